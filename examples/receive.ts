// First terminal: registers memory, tells who asks where it is, and prints what arrives in it.
//   node dist/examples/receive.js [PORT]

import { Engine } from 'nixl-tcpx';

const memory = new Uint8Array(1024);
const engine = await Engine.open({
  name: 'receiver',
  onNotification: ({ session, bytes }) => {
    const message = new TextDecoder().decode(bytes);
    if (message === 'where') {
      // A descriptor travels like any other message: here as a notification.
      session.notify(JSON.stringify(region.descriptor));
      return;
    }
    const text = new TextDecoder().decode(memory.subarray(0, Number(message)));
    console.log(`from ${session.peer}: ${text}`);
    void engine.close();
  },
});
const region = engine.register(memory, { read: false, write: true });
const port = engine.listen({ port: Number(process.argv[2] ?? 20000) });
console.log(`listening on port ${port}`);
