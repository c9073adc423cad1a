// Prefill hands a KV cache to decode: blocks scattered over both caches, layer by layer, so that
// decode starts with the first layer while the last is still on its way.
//   node dist/examples/kv-blocks.js

import { Agent, describeMemory, MemType, XferDlist, XferOp } from 'nixl-tcpx';

const LAYERS = 8;
const BLOCK_BYTES = 16 * 1024;
const CACHE_BLOCKS = 512;
const SEQUENCE_BLOCKS = 200;

/** One tensor per layer, each with room for many blocks, as an inference engine keeps it. */
async function openWorker(name: string) {
  const agent = await Agent.create(name);
  await agent.createBackend('TCPX');
  const layers = Array.from({ length: LAYERS }, () => {
    const { buffer } = agent.allocateMem(CACHE_BLOCKS * BLOCK_BYTES, 'prefer-huge');
    return { bytes: new Uint8Array(buffer), desc: describeMemory(buffer) };
  });
  await agent.registerMem({ memType: MemType.DRAM, descs: layers.map(({ desc }) => desc) });
  return { agent, layers };
}

/** Which blocks of a cache a sequence got: scattered, and different on both ends. */
const blockTable = (step: number) =>
  Array.from({ length: SEQUENCE_BLOCKS }, (_, index) => (index * step) % CACHE_BLOCKS);

const prefill = await openWorker('prefill');
const decode = await openWorker('decode');
const [mine, theirs] = [blockTable(5), blockTable(11)];
prefill.agent.loadRemoteMD(decode.agent.getLocalMD());
await prefill.agent.makeConnection('decode');

const requests = prefill.layers.map(({ desc }, layer) => {
  const [local, remote] = [new XferDlist(MemType.DRAM), new XferDlist(MemType.DRAM)];
  for (const [index, block] of mine.entries()) {
    local.add(desc.addr + block * BLOCK_BYTES, BLOCK_BYTES);
    const far = decode.layers[layer]?.desc.addr ?? 0;
    remote.add(far + (theirs[index] ?? 0) * BLOCK_BYTES, BLOCK_BYTES);
  }
  return prefill.agent.createXferReq(XferOp.WRITE, local, remote, 'decode');
});

const arrived: string[] = [];
const receiving = (async () => {
  while (arrived.length < LAYERS) {
    const notifs = await decode.agent.waitNotifs(10_000);
    for (const message of notifs.get('prefill') ?? []) {
      const layer = Number(Buffer.from(message).toString());
      const cache = decode.layers[layer]?.bytes;
      const isWhole = theirs.every(
        (block, index) => cache?.[block * BLOCK_BYTES] === (index & 255),
      );
      arrived.push(`layer ${layer} ${isWhole ? 'complete' : 'BROKEN'}`);
    }
  }
})();

for (const [layer, request] of requests.entries()) {
  // The layer is computed, then sent while the next one is computed.
  const cache = prefill.layers[layer]?.bytes;
  for (const [index, block] of mine.entries()) {
    cache?.fill(index, block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES);
  }
  prefill.agent.postXferReq(request, { notif: String(layer) });
}
for (const request of requests) await prefill.agent.waitXferReq(request);
await receiving;
console.log(arrived.sort().join('\n'));
console.log(`${LAYERS * SEQUENCE_BLOCKS} blocks of ${BLOCK_BYTES} bytes`);
await Promise.all([prefill.agent.close(), decode.agent.close()]);
