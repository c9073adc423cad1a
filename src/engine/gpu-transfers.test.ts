// GPU memory through real engines on loopback, with simulated GPUs in every lane.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  closeEngines,
  openEngine,
  openPair,
  type Settings,
} from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import { registerHost, registerSimulated, simulatedRange } from '../../test/support/gpu-memory.js';
import { SIMULATED_GPU_MODULE, SimulatedGpus } from '../../test/support/simulated-gpu.js';
import { sleepMs } from '../base/clock.js';
import { fillPattern, findMismatch } from '../base/pattern.js';
import { gpuAbsence } from '../ffi/cuda/driver.js';
import { memoryRange } from '../memory/region.js';
import type { Engine } from './engine.js';

after(closeEngines);

const GPUS = { gpuModule: SIMULATED_GPU_MODULE };
const MODES: Readonly<Record<string, Settings>> = {
  'one lane': {},
  'two lanes, three channels': { 'lane.count': 2, 'flow.channels': 3, 'flow.chunkBytes': 65536 },
  'no lane': { 'lane.progress': 'caller' },
};
const KINDS = { dram: registerHost, vram: registerSimulated };
type Kind = keyof typeof KINDS;
const COMBINATIONS: readonly (readonly [Kind, Kind])[] = [
  ['vram', 'vram'],
  ['vram', 'dram'],
  ['dram', 'vram'],
];

function openGpuPair(settings: Settings = {}) {
  return openPair(settings, settings, {}, GPUS);
}

function wholeBlock(here: ReturnType<typeof registerHost>, there: typeof here) {
  const { region: local } = here;
  const remote = there.region.descriptor;
  return { local, localOffset: 0, remote, remoteOffset: 0, bytes: here.memory.length };
}

for (const [mode, settings] of Object.entries(MODES)) {
  test(`engine: GPU memory in every combination, both ways, ${mode}`, async () => {
    const pair = await openGpuPair(settings);
    const bytes = 3_000_001;
    let seed = 0;
    for (const [here, there] of COMBINATIONS) {
      const local = KINDS[here](pair.client, bytes);
      const remote = KINDS[there](pair.server, bytes);
      const blocks = [wholeBlock(local, remote)];
      for (const operation of ['write', 'read'] as const) {
        seed++;
        const isWrite = operation === 'write';
        const [source, target] = isWrite ? [local, remote] : [remote, local];
        fillPattern(source.memory, seed);
        const receipt = await pair.drive(pair.session[operation](blocks).done);
        assert.equal(findMismatch(target.memory, seed), -1, `${here} ${operation} ${there}`);
        assert.equal(receipt.path, 'tcp staged');
        assert.equal(receipt.bytesConfirmed, bytes);
        const { copyOutUs = 0, sendUs = 0, receiveUs = 0, copyInUs = 0 } = receipt.stages ?? {};
        assert.equal(copyOutUs > 0, isWrite && here === 'vram', 'copy out');
        assert.equal(sendUs > 0, isWrite, 'send');
        assert.equal(receiveUs > 0, !isWrite, 'receive');
        assert.equal(copyInUs > 0, !isWrite && here === 'vram', 'copy in');
      }
    }
    await pair.close();
  });
}

test('engine: 5,000 blocks between GPUs, then a notification, with the data there', async () => {
  const pair = await openGpuPair({ 'lane.count': 2, 'flow.channels': 2 });
  const count = 5000;
  const blockBytes = 700;
  const local = registerSimulated(pair.client, count * blockBytes);
  const remote = registerSimulated(pair.server, count * blockBytes, SimulatedGpus.Second);
  fillPattern(local.memory, 1);
  const blocks = Array.from({ length: count }, (_, index) => ({
    local: local.region,
    localOffset: index * blockBytes,
    remote: remote.region.descriptor,
    remoteOffset: (count - 1 - index) * blockBytes,
    bytes: blockBytes,
  }));
  await pair.session.write(blocks, { notify: 'there' }).done;
  for (let index = 0; index < count; index += 97) {
    const at = (count - 1 - index) * blockBytes;
    const landed = remote.memory.subarray(at, at + blockBytes);
    assert.equal(findMismatch(landed, 1, index * blockBytes), -1, `block ${index}`);
  }
  while (pair.notifications.length === 0) await sleepMs(1);
  assert.equal(pair.notifications.length, 1);
  await pair.close();
});

test('engine: a GPU that fails gives typed errors, and the session goes on', async () => {
  const { FailsOut, FailsIn, Healthy, Closed } = SimulatedGpus;
  const pair = await openGpuPair({ 'flow.chunkBytes': 65536 });
  const bytes = 2_000_000;
  const good = registerSimulated(pair.client, bytes, Healthy);
  const failsHere = registerSimulated(pair.client, bytes, FailsOut);
  const failsThere = registerSimulated(pair.server, bytes, FailsIn);
  const closedThere = registerSimulated(pair.server, bytes, Closed);
  const goodThere = registerSimulated(pair.server, bytes, Healthy);
  const write = (here: typeof good, there: typeof good) =>
    pair.session.write([wholeBlock(here, there)]).done;
  await assert.rejects(write(failsHere, goodThere), withCode('ERR_XFER_DEVICE'));
  await assert.rejects(write(good, failsThere), withCode('ERR_PEER_DEVICE'));
  await assert.rejects(write(good, closedThere), withCode('ERR_PEER_DEVICE'));
  assert.ok(pair.serverLog.has(/cannot use a GPU.*simulated GPU 4/));
  assert.ok(pair.serverLog.has(/cannot use a GPU.*simulated fault/));
  fillPattern(good.memory, 3);
  await write(good, goodThere);
  assert.equal(findMismatch(goodThere.memory, 3), -1);
  await pair.server.deregister(failsThere.region, 1000);
  await pair.close();
});

test('engine: a write waits for the event of its source', async () => {
  const pair = await openGpuPair();
  const word = new Int32Array(new ArrayBuffer(8));
  const local = registerSimulated(pair.client, 100_000);
  const remote = registerSimulated(pair.server, 100_000);
  const event = { device: SimulatedGpus.Healthy, handle: memoryRange(word).addr };
  const blocks = [wholeBlock(local, remote)];
  const transfer = pair.session.write(blocks, { sourceReady: event });
  assert.equal(transfer.wait(30), 'active');
  fillPattern(local.memory, 4);
  Atomics.store(word, 0, 1);
  await transfer.done;
  assert.equal(findMismatch(remote.memory, 4), -1);
  const read = () => pair.session.read(blocks, { sourceReady: event });
  assert.throws(read, withCode('ERR_USAGE_ARGUMENT'));
  await pair.close();
});

test('engine: a lane does not spin while it waits long for a device', async () => {
  const pair = await openGpuPair();
  const word = new Int32Array(new ArrayBuffer(8));
  const local = registerSimulated(pair.client, 4096);
  const remote = registerSimulated(pair.server, 4096);
  const event = { device: SimulatedGpus.Healthy, handle: memoryRange(word).addr };
  const transfer = pair.session.write([wholeBlock(local, remote)], { sourceReady: event });
  const turnsOf = (engine: Engine) => engine.laneStats()[0]?.turns ?? 0;
  assert.equal(transfer.wait(50), 'active');
  const before = turnsOf(pair.client);
  assert.equal(transfer.wait(200), 'active');
  // A nap of a millisecond, then one look: far from the hundreds of thousands of a spin.
  const turns = turnsOf(pair.client) - before;
  assert.ok(turns > 10 && turns < 2000, `${turns} turns in 200 ms`);
  Atomics.store(word, 0, 1);
  await transfer.done;
  await pair.close();
});

test('engine: memory that is not of the GPU is refused, whatever stands for GPUs', async () => {
  const engine = await openEngine({}, GPUS);
  const range = simulatedRange(4096);
  const isArgument = withCode('ERR_USAGE_ARGUMENT');
  assert.throws(() => engine.register({ ...range, device: 17 }), isArgument);
  assert.throws(() => engine.register({ ...range, device: -1 }), isArgument);
  assert.throws(() => engine.register({ ...range, addr: 4096 }), isArgument);
  await engine.close();
});

test('engine: without a GPU, registering its memory says what is missing', async (t) => {
  if (gpuAbsence() === undefined) {
    t.skip('needs a host without a GPU');
    return;
  }
  const engine = await openEngine();
  const register = () => engine.register({ device: 0, addr: 4096, bytes: 64 });
  assert.throws(register, withCode('ERR_CAP_GPU'));
  await engine.close();
});
