// Second terminal: writes a line into the memory of the receiver.
//   node dist/examples/send.js HOST [PORT] [TEXT]

import { Engine, type RegionDescriptor } from 'nixl-tcpx';

const [host = '127.0.0.1', port = '20000', text = 'hello'] = process.argv.slice(2);
let told: (descriptor: RegionDescriptor) => void;
const descriptor = new Promise<RegionDescriptor>((resolve) => {
  told = resolve;
});
const engine = await Engine.open({
  name: 'sender',
  // The peer is our own receiver and has proved it; a stranger's text would be checked first.
  onNotification: ({ bytes }) => {
    told(JSON.parse(new TextDecoder().decode(bytes)) as RegionDescriptor);
  },
});
const session = await engine.connect(host, Number(port));
session.notify('where');
const remote = await descriptor;
const local = engine.register(new TextEncoder().encode(text));
const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: local.bytes };
const receipt = await session.write([block], { notify: String(local.bytes) }).done;
console.log(`${receipt.bytesConfirmed} bytes confirmed in ${Math.round(receipt.durationUs)} µs`);
await engine.close();
