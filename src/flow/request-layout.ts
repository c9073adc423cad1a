// A prepared request in shared memory: remote regions, descriptor pairs and chunks, each entry
// 32 bytes (base/shared-layout.ts). Written once when the request is prepared, read by lanes for
// every post.
//
//   offset 0      remotes × 32        + descriptors × 32         + chunks × 32
//   ┌─────────────┬───────────────────┬──────────────────────────┐
//   │ remotes     │ descriptors       │ chunks                   │
//   └─────────────┴───────────────────┴──────────────────────────┘

import { fieldIndex } from '../base/shared-block.js';
import { CHUNK_BLOCK, PAIR_BLOCK, REMOTE_BLOCK } from '../base/shared-layout.js';

export const REQUEST_ENTRY_BYTES = CHUNK_BLOCK.bytes;
export const ENTRY_WORDS = REQUEST_ENTRY_BYTES / 4;
export const ENTRY_FLOATS = REQUEST_ENTRY_BYTES / 8;

// Uint32 words, but for those of a pair, and left and skip of a chunk, which are Float64.
export const REMOTE_SLOT = fieldIndex(REMOTE_BLOCK, 'slot');
export const REMOTE_GENERATION = fieldIndex(REMOTE_BLOCK, 'generation');
export const REMOTE_KEY = fieldIndex(REMOTE_BLOCK, 'key');
export const REMOTE_LOCAL_DEVICE = fieldIndex(REMOTE_BLOCK, 'localDevice');

export const PAIR_LOCAL_ADDR = fieldIndex(PAIR_BLOCK, 'localAddr');
export const PAIR_REMOTE_OFFSET = fieldIndex(PAIR_BLOCK, 'remoteOffset');
export const PAIR_BYTES = fieldIndex(PAIR_BLOCK, 'bytes');
export const PAIR_REMOTE_INDEX = fieldIndex(PAIR_BLOCK, 'remoteIndex');

export const CHUNK_FIRST_PAIR = fieldIndex(CHUNK_BLOCK, 'firstPair');
export const CHUNK_PAIR_COUNT = fieldIndex(CHUNK_BLOCK, 'pairCount');
export const CHUNK_BYTES = fieldIndex(CHUNK_BLOCK, 'bytes');
export const CHUNK_REMOTE_INDEX = fieldIndex(CHUNK_BLOCK, 'remoteIndex');
export const CHUNK_LEFT = fieldIndex(CHUNK_BLOCK, 'left');
export const CHUNK_SKIP = fieldIndex(CHUNK_BLOCK, 'skip');

export interface RequestShape {
  readonly remoteCount: number;
  readonly pairCount: number;
  readonly chunkCount: number;
}

export function requestBytes(shape: RequestShape): number {
  return (shape.remoteCount + shape.pairCount + shape.chunkCount) * REQUEST_ENTRY_BYTES;
}
