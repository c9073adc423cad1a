// A prepared request in shared memory: remote regions, descriptor pairs and chunks, each entry
// 32 bytes. Written once when the request is prepared, read by lanes for every post.
//
//   offset 0      remotes × 32        + descriptors × 32         + chunks × 32
//   ┌─────────────┬───────────────────┬──────────────────────────┐
//   │ remotes     │ descriptors       │ chunks                   │
//   └─────────────┴───────────────────┴──────────────────────────┘

export const REQUEST_ENTRY_BYTES = 32;
export const ENTRY_WORDS = REQUEST_ENTRY_BYTES / 4;
export const ENTRY_FLOATS = REQUEST_ENTRY_BYTES / 8;

// Remote region: Uint32 words.
export const REMOTE_SLOT = 0;
export const REMOTE_GENERATION = 1;
export const REMOTE_KEY = 2; // four words
/** Where the local half of its pairs lies: 0 host memory, n + 1 GPU n. */
export const REMOTE_LOCAL_DEVICE = 6;

// Descriptor pair: Float64 indexes.
export const PAIR_LOCAL_ADDR = 0;
export const PAIR_REMOTE_OFFSET = 1;
export const PAIR_BYTES = 2;
export const PAIR_REMOTE_INDEX = 3;

// Chunk: Uint32 words, except the skip, a Float64 at word 6.
export const CHUNK_FIRST_PAIR = 0;
export const CHUNK_PAIR_COUNT = 1;
export const CHUNK_BYTES = 2;
export const CHUNK_REMOTE_INDEX = 3;
/** Float64 index: bytes of the first pair that earlier chunks carry. */
export const CHUNK_SKIP = 3;

export interface RequestShape {
  readonly remoteCount: number;
  readonly pairCount: number;
  readonly chunkCount: number;
}

export function requestBytes(shape: RequestShape): number {
  return (shape.remoteCount + shape.pairCount + shape.chunkCount) * REQUEST_ENTRY_BYTES;
}
