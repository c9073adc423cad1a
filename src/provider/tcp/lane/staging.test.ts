// GPU memory over a virtual link, with simulated GPUs whose copies happen late: what counts as
// landed has landed, slots come back, and a device that fails fails its transfers alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneEnd } from '../../../../test/support/lane-end.js';
import { addGpuRegion, addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import {
  assertMovesMiddle,
  type MovePlace,
  middleMoveBytes,
} from '../../../../test/support/middle-move.js';
import { SimulatedGpus } from '../../../../test/support/simulated-gpu.js';
import { FAIL_DEVICE, FAIL_PEER_DEVICE } from '../../../base/failure.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { seededRandom } from '../../../base/random.js';
import type { Block } from '../../block-columns.js';
import { TRANSFER_RECEIVE_US, transferWord } from './layout.js';
import { EVENT_NOTIFICATION } from './messages.js';

const KINDS = {
  dram: addRegion,
  vram: addGpuRegion,
  /** As memory of another process: a copy is over when it was started. */
  prompt: (end: LaneEnd, bytes: number) => addGpuRegion(end, bytes, SimulatedGpus.Prompt),
};
type Kind = keyof typeof KINDS;
const COMBINATIONS: readonly (readonly [Kind, Kind])[] = [
  ['vram', 'vram'],
  ['vram', 'dram'],
  ['dram', 'vram'],
  ['dram', 'dram'],
  ['prompt', 'prompt'],
  ['prompt', 'vram'],
  ['vram', 'prompt'],
];
const LINKS = {
  'calls that take all': {},
  'calls of 1 to 600 bytes and stalls': { callBytesMax: 600, stallChance: 0.2 },
  'a pipe of 4 KiB': { pipeBytes: 4096 },
};

function assertSlotsFree(end: LaneEnd): void {
  for (const { out, into } of end.core.staging.stagers) {
    assert.equal(out.freeCount, out.slotCount, 'slots for sending are back');
    assert.equal(into.freeCount, into.slotCount, 'slots for receiving are back');
  }
  for (const { held } of end.core.channels) assert.equal(held.outHeld, 0);
}

for (const [here, there] of COMBINATIONS) {
  for (const operation of ['write', 'read'] as const) {
    for (const [name, link] of Object.entries(LINKS)) {
      const what = `a ${operation}, ${here} here, ${there} there`;
      test(`staging: ${what}, lands whole, over ${name}`, () => {
        const pair = new LanePair({ seed: 3, chunkBytes: 4096, link, hasGpus: true });
        const bytes = 90_001;
        const local = KINDS[here](pair.a, middleMoveBytes(bytes));
        const remote = KINDS[there](pair.b, middleMoveBytes(bytes));
        assertMovesMiddle(pair, operation, local, remote, bytes);
        assertSlotsFree(pair.a);
        assertSlotsFree(pair.b);
        pair.destroy();
      });
    }
  }
}

test('staging: a chunk that is copied at once leaves before the next is copied', () => {
  const chunkBytes = 65_536;
  const pair = new LanePair({ chunkBytes, link: { pipeBytes: chunkBytes }, hasGpus: true });
  const bytes = 16 * chunkBytes;
  const local = addGpuRegion(pair.a, bytes, SimulatedGpus.Prompt);
  const remote = addGpuRegion(pair.b, bytes, SimulatedGpus.Prompt);
  const copied = (end: LaneEnd): number => {
    const pools = end.core.staging.stagers.map(({ out }) => out.slotCount - out.freeCount);
    return Math.max(0, ...pools);
  };
  // The peer takes nothing: its pipe holds one chunk, so that a second one waits for room.
  const write = pair.a.post('write', [block(local.region, remote.region, bytes)]);
  for (let steps = 0; steps < 10; steps++) pair.a.step();
  assert.ok(copied(pair.a) <= 2, `${copied(pair.a)} chunks copied ahead of a write`);
  assert.equal(pair.finish(write), 0);
  const read = pair.a.post('read', [block(local.region, remote.region, bytes)]);
  for (let steps = 0; steps < 10; steps++) pair.a.step();
  for (let steps = 0; steps < 10; steps++) pair.b.step();
  assert.ok(copied(pair.b) <= 2, `${copied(pair.b)} chunks copied ahead of answers`);
  assert.equal(pair.finish(read), 0);
  const { core } = pair.a;
  const receiveUs = core.int32[transferWord(core.transfersAt, read, TRANSFER_RECEIVE_US)]!;
  assert.ok(receiveUs >= 0, `${receiveUs} µs to receive, without the copies`);
  pair.settle();
  assertSlotsFree(pair.a);
  assertSlotsFree(pair.b);
  pair.destroy();
});

for (const operation of ['write', 'read'] as const) {
  for (const isHere of [true, false]) {
    const what = `a copy ${isHere ? 'here' : 'there'} that fails at once`;
    test(`staging: ${what} fails its ${operation}, and no slot stays`, () => {
      const pair = new LanePair({ chunkBytes: 4096, hasGpus: true });
      const bytes = 40 * 4096;
      const devices = [SimulatedGpus.FailsPromptly, SimulatedGpus.Prompt] as const;
      const local = addGpuRegion(pair.a, bytes, devices[isHere ? 0 : 1]);
      const remote = addGpuRegion(pair.b, bytes, devices[isHere ? 1 : 0]);
      const slot = pair.a.post(operation, [block(local.region, remote.region, bytes)]);
      assert.equal(pair.finish(slot), isHere ? FAIL_DEVICE : FAIL_PEER_DEVICE);
      pair.settle();
      assertSlotsFree(pair.a);
      assertSlotsFree(pair.b);
      pair.destroy();
    });
  }
}

/**
 * Host memory, two GPUs and memory that is copied at once at each end; blocks of any size between
 * any of them.
 */
function scatter(pair: LanePair, seed: number) {
  const random = seededRandom(seed);
  const count = random.nextBetween(1, 400);
  const slotBytes = 300;
  const places = (end: LaneEnd): MovePlace[] => [
    addRegion(end, count * slotBytes),
    addGpuRegion(end, count * slotBytes, SimulatedGpus.Healthy),
    addGpuRegion(end, count * slotBytes, SimulatedGpus.Second),
    addGpuRegion(end, count * slotBytes, SimulatedGpus.Prompt),
  ];
  const locals = places(pair.a);
  const remotes = places(pair.b);
  const moves = Array.from({ length: count }, (_, index) => {
    const local = locals[random.nextBetween(0, 3)]!;
    const remote = remotes[random.nextBetween(0, 3)]!;
    const bytes = random.nextBetween(1, slotBytes);
    const mirrored = (count - 1 - index) * slotBytes;
    const one: Block = block(local.region, remote.region, bytes, index * slotBytes, mirrored);
    return { local, remote, one };
  });
  return { locals, remotes, moves };
}

for (const operation of ['write', 'read'] as const) {
  test(`staging: random blocks of one ${operation} between host memory and two GPUs`, () => {
    for (let seed = 1; seed <= 25; seed++) {
      const pair = new LanePair({
        seed,
        channels: 1 + (seed % 3),
        windowChunks: 1 + (seed % 5),
        chunkBytes: 4096,
        link: { callBytesMax: 5000, stallChance: 0.1 },
        hasGpus: true,
      });
      const { locals, remotes, moves } = scatter(pair, seed);
      const sources = operation === 'write' ? locals : remotes;
      const targets = operation === 'write' ? remotes : locals;
      sources.forEach(({ memory }, index) => fillPattern(memory, seed + index));
      const expected = targets.map(({ memory }) => new Uint8Array(memory.length));
      for (const { local, remote, one } of moves) {
        const [from, to] = operation === 'write' ? [local, remote] : [remote, local];
        const isWrite = operation === 'write';
        const [fromAt, toAt] = isWrite
          ? [one.localOffset, one.remoteOffset]
          : [one.remoteOffset, one.localOffset];
        const bytes = from.memory.subarray(fromAt, fromAt + one.bytes);
        expected[targets.indexOf(to)]!.set(bytes, toAt);
      }
      const slot = pair.a.post(
        operation,
        moves.map(({ one }) => one),
      );
      assert.equal(pair.finish(slot), 0, `seed ${seed}`);
      targets.forEach(({ memory }, index) => {
        assert.ok(Buffer.from(memory).equals(expected[index]!), `seed ${seed}, place ${index}`);
      });
      pair.settle();
      assertSlotsFree(pair.a);
      assertSlotsFree(pair.b);
      pair.destroy();
    }
  });
}

test('staging: a notification comes after its data is in GPU memory, on every seed', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const channels = 1 + (seed % 3);
    const link = { callBytesMax: 3000, stallChance: 0.1 };
    const pair = new LanePair({ seed, channels, chunkBytes: 4096, link, hasGpus: true });
    const bytes = 60_001;
    const local = addGpuRegion(pair.a, bytes);
    const remote = addGpuRegion(pair.b, bytes);
    fillPattern(local.memory, seed);
    pair.a.post('write', [block(local.region, remote.region, bytes)], Uint8Array.of(7));
    pair.run(() => pair.b.eventsOf(EVENT_NOTIFICATION).length > 0);
    assert.equal(findMismatch(remote.memory, seed), -1, `seed ${seed}`);
    pair.destroy();
  }
});

test('staging: both ends write and read GPU memory at once, slots are few, all finish', () => {
  for (let seed = 1; seed <= 10; seed++) {
    const link = { callBytesMax: 9000, pipeBytes: 8192 };
    const pair = new LanePair({ seed, channels: 2, chunkBytes: 4096, link, hasGpus: true });
    const bytes = 120_000;
    const runs = [pair.a, pair.b].flatMap((end) => {
      const other = end === pair.a ? pair.b : pair.a;
      return (['write', 'read'] as const).map((operation, index) => {
        const local = addGpuRegion(end, bytes);
        const remote = addGpuRegion(other, bytes);
        const isWrite = operation === 'write';
        fillPattern(isWrite ? local.memory : remote.memory, index + 1);
        const slot = end.post(operation, [block(local.region, remote.region, bytes)]);
        return { end, slot, target: isWrite ? remote.memory : local.memory, seed: index + 1 };
      });
    });
    for (const run of runs) assert.equal(pair.finish(run.slot, run.end), 0);
    for (const run of runs) assert.equal(findMismatch(run.target, run.seed), -1);
    pair.destroy();
  }
});

test('staging: stage times are counted where they are seen', () => {
  const pair = new LanePair({ seed: 4, chunkBytes: 4096, hasGpus: true });
  const local = addGpuRegion(pair.a, 100_000);
  const remote = addGpuRegion(pair.b, 100_000);
  const wrote = pair.a.post('write', [block(local.region, remote.region, 100_000)]);
  assert.equal(pair.finish(wrote), 0);
  const write = pair.a.transfers.stageTimes(wrote);
  assert.ok(write.copyOutUs > 0 && write.sendUs > 0, JSON.stringify(write));
  assert.ok(write.peerCopyUs > 0 && write.peerCopyUs < write.sendUs, JSON.stringify(write));
  assert.equal(write.receiveUs + write.copyInUs, 0);
  const got = pair.a.post('read', [block(local.region, remote.region, 100_000)]);
  assert.equal(pair.finish(got), 0);
  const read = pair.a.transfers.stageTimes(got);
  assert.ok(read.receiveUs > 0 && read.copyInUs > 0, JSON.stringify(read));
  assert.ok(read.peerCopyUs > 0 && read.peerCopyUs < read.receiveUs, JSON.stringify(read));
  assert.equal(read.copyOutUs + read.sendUs, 0);
  pair.destroy();
});
