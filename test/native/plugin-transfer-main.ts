// One process that is both ends of a connection through a plugin, by our own bindings: sends a
// message, unpacks the scatter list, checks the bytes, and prints what it saw as JSON.

import assert from 'node:assert/strict';
import { viewMemory } from '../../src/ffi/libc/library.js';
import { mapMemory, viewMapping } from '../../src/ffi/libc/mapping.js';
import {
  DEVICE_HANDLE_BYTES,
  HANDLE_BYTES,
  NetPlugin,
  POINTER_CUDA,
} from '../../src/ffi/nccl-net/net-plugin.js';
import { TEST_DONE } from '../../src/ffi/nccl-net/plugin-calls.hot.js';
import { openPluginLogger } from '../../src/ffi/nccl-net/plugin-logger.js';

const BYTES = 300_000;
/** Of whole pages, as the plugin registers GPU memory. */
const PAGES_BYTES = Math.ceil(BYTES / 4096) * 4096;
const ENTRY_BYTES = 16;
const COUNTS_OFFSET = 16 * 2048 * ENTRY_BYTES;

const plugin = NetPlugin.load({ path: process.argv[2] ?? '', name: '' });
const logger = openPluginLogger();
plugin.init(logger);

const control = mapMemory(4096);
const handleAddr = control.addr;
const deviceAddr = control.addr + HANDLE_BYTES;
const source = mapMemory(BYTES);
const sourceBytes = new Uint8Array(viewMapping(source));
sourceBytes.forEach((_, i) => (sourceBytes[i] = (i * 31 + (i >> 8)) & 0xff));

const listenComm = plugin.listen(0, handleAddr);
let sendComm = 0;
let receiveComm = 0;
const deadline = Date.now() + 10_000;
while (sendComm === 0 || receiveComm === 0) {
  if (sendComm === 0) sendComm = plugin.connect(0, handleAddr);
  if (receiveComm === 0) receiveComm = plugin.accept(listenComm, deviceAddr);
  assert.ok(Date.now() < deadline, 'connected in time');
}

const target = mapMemory(BYTES);
const sendHandle = plugin.registerMemory(sendComm, source.addr, PAGES_BYTES, POINTER_CUDA);
const receiveHandle = plugin.registerMemory(receiveComm, target.addr, PAGES_BYTES, POINTER_CUDA);
const { messages } = plugin;
const receive = messages.irecv(receiveComm, target.addr, BYTES, 42, receiveHandle);
const send = messages.isend(sendComm, source.addr, BYTES, 42, sendHandle);
assert.ok(send > 0 && receive > 0, `requests ${send} ${receive}`);
const refused = messages.isend(sendComm, source.addr, BYTES, 42, 0);

let sent = 0;
let received = 0;
while (sent === 0 || received === 0) {
  if (sent === 0) sent = messages.test(send);
  if (received === 0) received = messages.test(receive);
  assert.ok(Date.now() < deadline, 'moved in time');
}
assert.deepEqual([sent, received], [TEST_DONE, TEST_DONE]);
const fragments = unpack();
const consumed = messages.irecvConsumed(receiveComm, receive);
const consumedTwice = messages.irecvConsumed(receiveComm, receive);
plugin.deregisterMemory(sendComm, sendHandle);
plugin.closeSend(sendComm);
plugin.closeReceive(receiveComm);
plugin.closeListen(listenComm);
plugin.finalize();

const result = {
  tableVersion: plugin.tableVersion,
  name: plugin.name,
  properties: plugin.properties(0),
  fragments,
  refused,
  consumed,
  consumedTwice,
  warnings: logger.take().filter((line) => line.level === 2).length,
};
process.stdout.write(`${JSON.stringify(result)}\n`);

/** The public way: device handle → unpack handle → scatter list of slot 0. */
function unpack(): number {
  const device = new DataView(viewMemory(deviceAddr, DEVICE_HANDLE_BYTES));
  const handle = new DataView(viewMemory(Number(device.getBigUint64(8, true)), 24));
  const metaAddr = Number(handle.getBigUint64(0, true));
  const bounceAddr = Number(handle.getBigUint64(8, true));
  const meta = new DataView(viewMemory(metaAddr, COUNTS_OFFSET + 128));
  const count = Number(meta.getBigUint64(COUNTS_OFFSET, true));
  const bytes = new Uint8Array(BYTES);
  for (let i = 0; i < count; i++) {
    const at = i * ENTRY_BYTES;
    const fragmentAddr = bounceAddr + meta.getUint32(at, true);
    const fragment = new Uint8Array(viewMemory(fragmentAddr, meta.getUint32(at + 4, true)));
    bytes.set(fragment, Number(meta.getBigUint64(at + 8, true)));
  }
  assert.ok(Buffer.from(bytes).equals(Buffer.from(sourceBytes)), 'bytes arrive as sent');
  return count;
}
