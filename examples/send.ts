// Second terminal: writes a line into the memory of the receiver, and tells it how long it is.
//   node send.mjs [HOST:PORT] [TEXT]

import { Engine } from 'nixl-tcpx';

const [where = '127.0.0.1:20000', text = 'hello'] = process.argv.slice(2);
const engine = await Engine.open({ name: 'sender' });
const session = await engine.connect(where);
const local = Buffer.from(text);
const remote = await session.lookup('inbox');
const receipt = await session.write({ local, remote }, { notify: String(local.length) });
console.log(`${receipt.bytesConfirmed} bytes confirmed in ${Math.round(receipt.durationUs)} µs`);
await engine.close();
