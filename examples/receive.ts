// First terminal: offers memory by name, and prints what arrives in it.
//   node receive.mjs [PORT]

import { Engine } from 'nixl-tcpx';

const engine = await Engine.open({ name: 'receiver' });
const inbox = Buffer.alloc(1024);
engine.register(inbox, { name: 'inbox', rights: { read: false, write: true } });
console.log(`listening on port ${engine.listen({ port: Number(process.argv[2] ?? 20000) })}`);

for await (const { session, text } of engine.notifications()) {
  console.log(`from ${session.peer}: ${inbox.toString('utf8', 0, Number(text))}`);
  break;
}
await engine.close();
