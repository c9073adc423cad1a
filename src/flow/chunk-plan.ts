// How a request is cut into chunks. Pure: arrays in, arrays out.
//
// Large blocks are split, small neighbours of one remote region travel together. The last chunks
// shrink towards the end, so that channels which pull them finish at about the same time: each
// takes at most its share of half of what is left (guided self-scheduling).

import { assert, floatAt, wordAt } from '../base/assert.js';

/** Local and remote halves of descriptors, merged and grouped, as columns. */
export interface PairColumns {
  readonly count: number;
  readonly localAddr: Float64Array;
  readonly remoteOffset: Float64Array;
  readonly bytes: Float64Array;
  readonly remoteIndex: Float64Array;
}

export interface Chunk {
  readonly firstPair: number;
  readonly pairCount: number;
  readonly skipBytes: number;
  readonly bytes: number;
  readonly remoteIndex: number;
}

export interface ChunkLimits {
  readonly chunkBytes: number;
  /** Channels that will pull: 1 needs no tapering. */
  readonly channels: number;
  /** Pairs per chunk. */
  readonly pairsMax: number;
}

/** Below this a chunk costs more in handling than it gains in balance. */
export const CHUNK_BYTES_FLOOR = 64 * 1024;
const CHUNK_ALIGNMENT = 4096;

/** Merges pairs that continue their predecessor on both sides; groups by remote region. */
export function mergePairs(pairs: PairColumns): PairColumns {
  if (pairs.count === 1) return pairs;
  const order = orderByRemote(pairs);
  const merged = emptyColumns(pairs.count);
  let count = 0;
  let region = Number.NaN;
  let localEnd = 0;
  let remoteEnd = 0;
  for (let place = 0; place < pairs.count; place++) {
    const index = order === undefined ? place : wordAt(order, place);
    const localAddr = floatAt(pairs.localAddr, index);
    const remoteOffset = floatAt(pairs.remoteOffset, index);
    const remoteIndex = floatAt(pairs.remoteIndex, index);
    const bytes = floatAt(pairs.bytes, index);
    const continues = localAddr === localEnd && remoteOffset === remoteEnd;
    if (continues && remoteIndex === region) {
      merged.bytes[count - 1] = floatAt(merged.bytes, count - 1) + bytes;
    } else {
      merged.localAddr[count] = localAddr;
      merged.remoteOffset[count] = remoteOffset;
      merged.bytes[count] = bytes;
      merged.remoteIndex[count] = remoteIndex;
      count++;
    }
    region = remoteIndex;
    localEnd = localAddr + bytes;
    remoteEnd = remoteOffset + bytes;
  }
  return { ...merged, count };
}

export function emptyColumns(count: number): PairColumns {
  return {
    count,
    localAddr: new Float64Array(count),
    remoteOffset: new Float64Array(count),
    bytes: new Float64Array(count),
    remoteIndex: new Float64Array(count),
  };
}

// Stable, so that blocks which follow each other in memory stay neighbours; undefined where they
// are grouped as they stand.
function orderByRemote({ remoteIndex, count }: PairColumns): Uint32Array | undefined {
  for (let index = 1; index < count; index++) {
    if (floatAt(remoteIndex, index) >= floatAt(remoteIndex, index - 1)) continue;
    const order = new Uint32Array(count).map((_, place) => place);
    return order.sort((a, b) => floatAt(remoteIndex, a) - floatAt(remoteIndex, b) || a - b);
  }
  return undefined;
}

export function planChunks(pairs: PairColumns, limits: ChunkLimits): Chunk[] {
  let leftBytes = 0;
  for (let index = 0; index < pairs.count; index++) leftBytes += floatAt(pairs.bytes, index);
  const chunks: Chunk[] = [];
  let pair = 0;
  let skipBytes = 0;
  while (pair < pairs.count) {
    const chunk = takeChunk(
      pairs,
      pair,
      skipBytes,
      chunkTarget(leftBytes, limits),
      limits.pairsMax,
    );
    chunks.push(chunk);
    leftBytes -= chunk.bytes;
    const lastPair = pair + chunk.pairCount - 1;
    const endInLast = endWithinPair(pairs, chunk);
    const isLastDone = endInLast === pairs.bytes[lastPair];
    pair = isLastDone ? lastPair + 1 : lastPair;
    skipBytes = isLastDone ? 0 : endInLast;
  }
  assert(leftBytes === 0, 'chunks cover the request');
  return chunks;
}

function chunkTarget(leftBytes: number, limits: ChunkLimits): number {
  if (limits.channels === 1) return limits.chunkBytes;
  const share = leftBytes / (2 * limits.channels);
  const aligned = Math.ceil(share / CHUNK_ALIGNMENT) * CHUNK_ALIGNMENT;
  const floor = Math.min(CHUNK_BYTES_FLOOR, limits.chunkBytes);
  return Math.min(limits.chunkBytes, Math.max(floor, aligned));
}

function takeChunk(
  pairs: PairColumns,
  firstPair: number,
  skipBytes: number,
  targetBytes: number,
  pairsMax: number,
): Chunk {
  const remoteIndex = floatAt(pairs.remoteIndex, firstPair);
  let bytes = 0;
  let pairCount = 0;
  let skip = skipBytes;
  for (let pair = firstPair; pair < pairs.count && pairCount < pairsMax; pair++) {
    if (pairs.remoteIndex[pair] !== remoteIndex) break;
    const available = floatAt(pairs.bytes, pair) - skip;
    const room = targetBytes - bytes;
    // A block that would be cut goes whole into the next chunk, unless it is larger than one.
    if (pairCount > 0 && available > room && available <= targetBytes) break;
    const taken = Math.min(available, room);
    bytes += taken;
    pairCount++;
    skip = 0;
    if (taken < available || bytes === targetBytes) break;
  }
  return { firstPair, pairCount, skipBytes, bytes, remoteIndex };
}

// Where the chunk ends inside its last pair.
function endWithinPair(pairs: PairColumns, chunk: Chunk): number {
  if (chunk.pairCount === 1) return chunk.skipBytes + chunk.bytes;
  let before = floatAt(pairs.bytes, chunk.firstPair) - chunk.skipBytes;
  for (let index = 1; index < chunk.pairCount - 1; index++) {
    before += floatAt(pairs.bytes, chunk.firstPair + index);
  }
  return chunk.bytes - before;
}
