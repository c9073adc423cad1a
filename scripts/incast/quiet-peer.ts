// A quiet peer beside a loud one: how long small writes take while another peer of the same lane
// keeps large ones under way.

import { percentile } from '../../src/bench/statistics.js';
import type { TransferRequest } from '../../src/engine/session.js';
import { MIB, openEngine, Target, writeUntil } from './target.js';

const LOUD_BYTES = 64 * MIB;
const LOUD_WRITES = 4;
const QUIET_BYTES = 4096;

export const QUIET_HEAD = ['loud GB/s', 'small writes', 'p50 ms', 'p90 ms', 'p99 ms', 'most ms'];

/** How long each took, in ms, in ascending order. */
async function writeQuietly(request: TransferRequest, endMs: number): Promise<number[]> {
  const tookMs: number[] = [];
  while (performance.now() < endMs) {
    const beganMs = performance.now();
    await request.post().done;
    tookMs.push(performance.now() - beganMs);
  }
  return tookMs.sort((a, b) => a - b);
}

export async function measureQuietPeer(seconds: number): Promise<string[]> {
  const target = await Target.open([LOUD_BYTES, QUIET_BYTES]);
  const [loud, quiet] = await Promise.all([openEngine({}), openEngine({})]);
  const loudRequest = await target.prepareWrite(loud, 0);
  const quietRequest = await target.prepareWrite(quiet, 1);
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  const [tookMs, ...loudBytes] = await Promise.all([
    writeQuietly(quietRequest, endMs),
    ...Array.from({ length: LOUD_WRITES }, () => writeUntil(endMs, loudRequest, LOUD_BYTES)),
  ]);
  const spentMs = performance.now() - startMs;
  await target.end();
  await Promise.all([loud.close(), quiet.close()]);
  const total = loudBytes.reduce((sum, bytes) => sum + bytes, 0);
  const percentiles = [0.5, 0.9, 0.99, 1].map((share) => percentile(tookMs, share).toFixed(2));
  return [(total / spentMs / 1e6).toFixed(2), String(tookMs.length), ...percentiles];
}
