// A prepared request: descriptors checked, merged and cut into chunks once, posted many times.

import { TcpxError } from '../base/errors.js';
import {
  emptyColumns,
  mergePairs,
  type PairColumns,
  planChunks,
  type Chunk,
} from '../flow/chunk-plan.js';
import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_PAIR_COUNT,
  CHUNK_REMOTE_INDEX,
  CHUNK_SKIP,
  ENTRY_FLOATS,
  ENTRY_WORDS,
  PAIR_BYTES,
  PAIR_LOCAL_ADDR,
  PAIR_REMOTE_INDEX,
  PAIR_REMOTE_OFFSET,
  REMOTE_GENERATION,
  REMOTE_KEY,
  REMOTE_SLOT,
  REQUEST_ENTRY_BYTES,
  requestBytes,
} from '../flow/request-layout.js';
import type { FixedMemory } from '../memory/fixed-memory.js';
import type { Region, RegionDescriptor } from '../memory/region.js';
import { TABLE_ENTRIES_MAX } from '../wire/data-frame.js';

/** One block: `bytes` from a place in local memory to a place in the peer's, or back. */
export interface Block {
  readonly local: Region;
  readonly localOffset: number;
  readonly remote: RegionDescriptor;
  readonly remoteOffset: number;
  readonly bytes: number;
}

export interface RequestPlan {
  readonly pairs: PairColumns;
  readonly chunks: readonly Chunk[];
  readonly remotes: readonly RegionDescriptor[];
  /** Distinct local regions: each is held while the request is in flight. */
  readonly locals: readonly Region[];
  readonly totalBytes: number;
}

/** Pure: checks every block and plans the chunks. */
export function planRequest(
  blocks: readonly Block[],
  limits: { readonly chunkBytes: number; readonly channels: number },
): RequestPlan {
  if (blocks.length === 0) throw new TcpxError('ERR_USAGE_ARGUMENT', 'a request needs a block');
  const columns = emptyColumns(blocks.length);
  const remoteIndexes = new Map<RegionDescriptor, number>();
  const locals = new Set<Region>();
  let totalBytes = 0;
  for (const [index, block] of blocks.entries()) {
    checkBlock(block, index);
    let remoteIndex = remoteIndexes.get(block.remote);
    if (remoteIndex === undefined) {
      if (!/^[0-9a-f]{32}$/.test(block.remote.key)) {
        throw new TcpxError('ERR_USAGE_ARGUMENT', `block ${index}: a region key has 32 hex digits`);
      }
      remoteIndex = remoteIndexes.size;
      remoteIndexes.set(block.remote, remoteIndex);
    }
    locals.add(block.local);
    columns.localAddr[index] = block.local.addr + block.localOffset;
    columns.remoteOffset[index] = block.remoteOffset;
    columns.bytes[index] = block.bytes;
    columns.remoteIndex[index] = remoteIndex;
    totalBytes += block.bytes;
  }
  const pairs = mergePairs(columns);
  const chunks = planChunks(pairs, { ...limits, pairsMax: TABLE_ENTRIES_MAX });
  return { pairs, chunks, remotes: [...remoteIndexes.keys()], locals: [...locals], totalBytes };
}

function checkBlock(block: Block, index: number): void {
  checkRange(`block ${index} local`, block.localOffset, block.bytes, block.local.bytes);
  checkRange(`block ${index} remote`, block.remoteOffset, block.bytes, block.remote.bytes);
}

function checkRange(what: string, offset: number, bytes: number, limit: number): void {
  const isWhole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
  if (isWhole && offset >= 0 && bytes > 0 && offset + bytes <= limit) return;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${what}: offset ${offset} + ${bytes} bytes is not inside a region of ${limit} bytes`,
  );
}

export function planBytes(plan: RequestPlan): number {
  return requestBytes({
    remoteCount: plan.remotes.length,
    pairCount: plan.pairs.count,
    chunkCount: plan.chunks.length,
  });
}

export interface RequestPlaces {
  readonly remotesAt: number;
  readonly pairsAt: number;
  readonly chunksAt: number;
}

/** Writes the plan into the arena (which starts at `arenaAt`) for the lanes to read. */
export function writeRequest(
  memory: FixedMemory,
  arenaAt: number,
  at: number,
  plan: RequestPlan,
): RequestPlaces {
  const places = {
    remotesAt: at,
    pairsAt: at + plan.remotes.length * REQUEST_ENTRY_BYTES,
    chunksAt: at + (plan.remotes.length + plan.pairs.count) * REQUEST_ENTRY_BYTES,
  };
  for (const [index, remote] of plan.remotes.entries()) {
    writeRemote(memory.uint32, (arenaAt + places.remotesAt) / 4 + index * ENTRY_WORDS, remote);
  }
  writePairs(memory.float64, (arenaAt + places.pairsAt) / 8, plan.pairs);
  for (const [index, chunk] of plan.chunks.entries()) {
    const word = (arenaAt + places.chunksAt) / 4 + index * ENTRY_WORDS;
    memory.uint32[word + CHUNK_FIRST_PAIR] = chunk.firstPair;
    memory.uint32[word + CHUNK_PAIR_COUNT] = chunk.pairCount;
    memory.uint32[word + CHUNK_BYTES] = chunk.bytes;
    memory.uint32[word + CHUNK_REMOTE_INDEX] = chunk.remoteIndex;
    memory.float64[word / 2 + CHUNK_SKIP] = chunk.skipBytes;
  }
  return places;
}

function writeRemote(words: Uint32Array, word: number, remote: RegionDescriptor): void {
  words[word + REMOTE_SLOT] = remote.slot;
  words[word + REMOTE_GENERATION] = remote.generation;
  const key = Buffer.from(remote.key, 'hex');
  if (key.length !== 16)
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'a region key has 32 hex digits');
  for (let index = 0; index < 4; index++) {
    words[word + REMOTE_KEY + index] = key.readUInt32LE(index * 4);
  }
}

function writePairs(floats: Float64Array, first: number, pairs: PairColumns): void {
  for (let index = 0; index < pairs.count; index++) {
    const at = first + index * ENTRY_FLOATS;
    floats[at + PAIR_LOCAL_ADDR] = pairs.localAddr[index] ?? 0;
    floats[at + PAIR_REMOTE_OFFSET] = pairs.remoteOffset[index] ?? 0;
    floats[at + PAIR_BYTES] = pairs.bytes[index] ?? 0;
    floats[at + PAIR_REMOTE_INDEX] = pairs.remoteIndex[index] ?? 0;
  }
}
