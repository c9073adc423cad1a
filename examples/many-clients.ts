// A server that many clients write to, each into memory of its own; both ends know a secret. The
// server ends after COUNT clients.
//   NIXL_TCPX_TRUST_SECRET=… node many-clients.mjs serve PORT COUNT
//   NIXL_TCPX_TRUST_SECRET=… node many-clients.mjs client HOST:PORT NAME

import { Engine } from 'nixl-tcpx';

const [command, where = '20000', name = '1'] = process.argv.slice(2);
if (command === 'serve') {
  let left = Number(name);
  const engine = await Engine.open({
    name: 'server',
    onSession: (session) => {
      const { peerName } = session;
      const memory = Buffer.alloc(64);
      const region = engine.register(memory, { name: `inbox of ${peerName}` });
      session.on('close', (error) => {
        console.log(`${peerName}: ${memory.toString().replaceAll('\0', '')}, ${error ?? 'done'}`);
        void engine.deregister(region);
        if (--left === 0) void engine.close();
      });
    },
  });
  console.log(`listening on port ${engine.listen({ port: Number(where) })}`);
} else {
  const engine = await Engine.open({ name });
  const session = await engine.connect(where, { timeoutMs: 10_000 });
  // The server may not have heard of this session yet: the name is waited for.
  const remote = await session.lookup(`inbox of ${name}`, { waitMs: 5000 });
  await session.write({ local: Buffer.from(`greetings from ${name}`), remote });
  await engine.close();
}
