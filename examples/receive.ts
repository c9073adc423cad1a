// First terminal: registers memory, tells every peer where it is, and prints what arrives in it.
//   node dist/examples/receive.js [PORT]

import { Engine } from 'nixl-tcpx';

const memory = new Uint8Array(1024);
const engine = await Engine.open({
  name: 'receiver',
  // A descriptor travels like any other message: here as a notification.
  onSession: (session) => void session.notify(JSON.stringify(region.descriptor)),
  onNotification: ({ session, bytes }) => {
    const count = Number(new TextDecoder().decode(bytes));
    const text = new TextDecoder().decode(memory.subarray(0, count));
    console.log(`from ${session.peer}: ${text}`);
    void engine.close();
  },
});
const region = engine.register(memory, { read: false, write: true });
const port = engine.listen({ port: Number(process.argv[2] ?? 20000) });
console.log(`listening on port ${port}`);
