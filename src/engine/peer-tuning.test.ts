import assert from 'node:assert/strict';
import { test } from 'node:test';
import { flightBytesOf } from '../os/socket-buffers.js';
import { agree, WISH_NO_FEWER, type Wish } from './agreement.js';
import { tuneForPeer } from './peer-tuning.js';

const MIB = 1024 * 1024;
const OWN: Wish = { channels: 1, windowChunks: 16, chunkBytes: MIB / 2, explicit: 0 };

function tuned(ms: number | undefined, bufferMib: number | undefined, wish = OWN) {
  const roundTripUs = ms === undefined ? undefined : ms * 1000;
  const bufferBytes = bufferMib === undefined ? undefined : bufferMib * MIB;
  return tuneForPeer(wish, { roundTripUs, bufferBytes });
}

test('peer tuning: a table of distances', () => {
  const cases = [
    // ms, MiB of kernel buffers; channels, window, chunk in MiB.
    [undefined, 4, 1, 16, 0.5],
    [0.05, 4, 1, 16, 0.5],
    [0.9, 4, 1, 16, 0.5],
    [1, 4, 1, 16, 0.5],
    [5, 4, 4, 16, 0.5],
    [20, 4, 8, 16, 1],
    [20, 64, 1, 30, 4],
    [20, undefined, 1, 30, 4],
    [100, 4, 8, 16, 1],
    [100, 64, 5, 16, 2],
    [300, 4, 8, 16, 1],
  ] as const;
  for (const [ms, bufferMib, channels, windowChunks, chunkMib] of cases) {
    const { wish } = tuned(ms, bufferMib);
    const seen = [wish.channels, wish.windowChunks, wish.chunkBytes / MIB];
    assert.deepEqual(seen, [channels, windowChunks, chunkMib], `${ms} ms, ${bufferMib} MiB`);
  }
});

test('peer tuning: what was set by hand is obeyed, and the rest follows it', () => {
  const firmChannels = tuned(20, 4, { ...OWN, channels: 1, explicit: 1 }).wish;
  assert.deepEqual([firmChannels.channels, firmChannels.chunkBytes], [1, 4 * MIB]);
  const firmChunk = tuned(20, 4, { ...OWN, explicit: 4 }).wish;
  assert.deepEqual([firmChunk.chunkBytes, firmChunk.windowChunks], [MIB / 2, 30]);
  const allFirm = { ...OWN, explicit: 7 };
  assert.deepEqual(tuned(300, 4, allFirm).wish, allFirm);
});

test('peer tuning: each change says why, and a near server does not undo it', () => {
  const { wish, reasons } = tuned(20, 4);
  assert.match(reasons.channels ?? '', /^auto: 20 ms away, and the kernel’s buffers hold 4 MiB$/);
  assert.match(reasons.chunkBytes ?? '', /^auto: 20 ms away: a window holds 15 MiB$/);
  assert.equal(reasons.windowChunks, undefined);
  assert.equal(wish.explicit, WISH_NO_FEWER);
  assert.deepEqual(agree(OWN, wish), { channels: 8, windowChunks: 16, chunkBytes: MIB });
  assert.deepEqual(tuned(0.1, 4).reasons, {});
});

test('peer tuning: a connection holds what both of its buffers can', () => {
  assert.equal(flightBytesOf(4 * MIB, 6 * MIB), 3 * MIB);
  assert.equal(flightBytesOf(4 * MIB, 32 * MIB), 4 * MIB);
});
