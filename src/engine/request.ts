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
  REMOTE_LOCAL_DEVICE,
  REMOTE_SLOT,
  REQUEST_ENTRY_BYTES,
  requestBytes,
} from '../flow/request-layout.js';
import type { FixedMemory } from '../os/fixed-memory.js';
import type { Region, RegionDescriptor } from '../memory/region.js';
import { GPUS_MAX } from '../gpu/staging-device.js';
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
  /** For each entry of `remotes`: the GPU + 1 that its local halves lie on, 0 host memory. */
  readonly localDevices: readonly number[];
  /** Distinct local regions: each is held while the request is in flight. */
  readonly locals: readonly Region[];
  readonly totalBytes: number;
}

/** Many blocks without an object for each: row i is one block, its regions named by index. */
export interface BlockColumns {
  readonly count: number;
  readonly localOffsets: Float64Array;
  readonly remoteOffsets: Float64Array;
  readonly bytes: Float64Array;
  readonly localIndexes: Uint32Array;
  readonly remoteIndexes: Uint32Array;
  readonly locals: readonly Region[];
  readonly remotes: readonly RegionDescriptor[];
}

/** Pure: checks every block and plans the chunks. */
export function planRequest(
  blocks: readonly Block[] | BlockColumns,
  limits: { readonly chunkBytes: number; readonly channels: number },
): RequestPlan {
  const rows = isColumns(blocks) ? blocks : columnsOf(blocks);
  if (rows.count === 0) throw new TcpxError('ERR_USAGE_ARGUMENT', 'a request needs a block');
  const { locals } = rows;
  for (const remote of rows.remotes) checkKey(remote);
  const groups = new RemoteGroups(rows);
  const columns = emptyColumns(rows.count);
  let totalBytes = 0;
  for (let index = 0; index < rows.count; index++) {
    const localIndex = rows.localIndexes[index] ?? 0;
    const remoteIndex = rows.remoteIndexes[index] ?? 0;
    const bytes = rows.bytes[index] ?? 0;
    const localOffset = rows.localOffsets[index] ?? 0;
    const remoteOffset = rows.remoteOffsets[index] ?? 0;
    const local = locals[localIndex];
    const remote = rows.remotes[remoteIndex];
    if (local === undefined || remote === undefined) throw noRegion(index);
    if (!isInside(localOffset, bytes, local.bytes)) {
      throw outside(`block ${index} local`, localOffset, bytes, local.bytes);
    }
    if (!isInside(remoteOffset, bytes, remote.bytes)) {
      throw outside(`block ${index} remote`, remoteOffset, bytes, remote.bytes);
    }
    columns.localAddr[index] = local.addr + localOffset;
    columns.remoteOffset[index] = remoteOffset;
    columns.bytes[index] = bytes;
    columns.remoteIndex[index] = groups.indexOf(remoteIndex, (local.device ?? -1) + 1);
    totalBytes += bytes;
  }
  const pairs = mergePairs(columns);
  const chunks = planChunks(pairs, { ...limits, pairsMax: TABLE_ENTRIES_MAX });
  const { remotes, localDevices } = groups;
  return { pairs, chunks, remotes, localDevices, locals, totalBytes };
}

/**
 * A chunk has one remote region, and its local half lies in one place: a remote region appears once
 * for each place (host memory, GPU n) that is paired with it, almost always once.
 */
class RemoteGroups {
  readonly remotes: RegionDescriptor[];
  readonly localDevices: number[];
  readonly #source: readonly RegionDescriptor[];
  readonly #indexes = new Map<number, number>();
  #lastKey = -1;
  #lastIndex = -1;

  constructor(rows: BlockColumns) {
    this.#source = rows.remotes;
    this.remotes = [];
    this.localDevices = [];
  }

  indexOf(remoteIndex: number, localDevice: number): number {
    const key = remoteIndex * (GPUS_MAX + 1) + localDevice;
    if (key === this.#lastKey) return this.#lastIndex;
    this.#lastKey = key;
    this.#lastIndex = this.#indexes.get(key) ?? this.#add(key, remoteIndex, localDevice);
    return this.#lastIndex;
  }

  #add(key: number, remoteIndex: number, localDevice: number): number {
    const remote = this.#source[remoteIndex];
    if (remote === undefined) throw noRegion(remoteIndex);
    this.localDevices.push(localDevice);
    this.#indexes.set(key, this.remotes.length);
    return this.remotes.push(remote) - 1;
  }
}

function isColumns(blocks: readonly Block[] | BlockColumns): blocks is BlockColumns {
  return !Array.isArray(blocks);
}

function columnsOf(blocks: readonly Block[]): BlockColumns {
  const locals = new Map<Region, number>();
  const remotes = new Map<RegionDescriptor, number>();
  const rows = {
    count: blocks.length,
    localOffsets: new Float64Array(blocks.length),
    remoteOffsets: new Float64Array(blocks.length),
    bytes: new Float64Array(blocks.length),
    localIndexes: new Uint32Array(blocks.length),
    remoteIndexes: new Uint32Array(blocks.length),
  };
  for (const [index, block] of blocks.entries()) {
    rows.localOffsets[index] = block.localOffset;
    rows.remoteOffsets[index] = block.remoteOffset;
    rows.bytes[index] = block.bytes;
    rows.localIndexes[index] = indexOf(locals, block.local);
    rows.remoteIndexes[index] = indexOf(remotes, block.remote);
  }
  return { ...rows, locals: [...locals.keys()], remotes: [...remotes.keys()] };
}

/** The number of an object, in order of first appearance. */
function indexOf<T>(indexes: Map<T, number>, key: T): number {
  const known = indexes.get(key);
  if (known !== undefined) return known;
  indexes.set(key, indexes.size);
  return indexes.size - 1;
}

function checkKey(remote: RegionDescriptor): void {
  if (/^[0-9a-f]{32}$/.test(remote.key)) return;
  throw new TcpxError('ERR_USAGE_ARGUMENT', 'a region key has 32 hex digits');
}

function isInside(offset: number, bytes: number, limit: number): boolean {
  const isWhole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
  return isWhole && offset >= 0 && bytes > 0 && offset + bytes <= limit;
}

function outside(what: string, offset: number, bytes: number, limit: number): TcpxError {
  return new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${what}: offset ${offset} + ${bytes} bytes is not inside a region of ${limit} bytes`,
  );
}

function noRegion(index: number): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `block ${index}: its region is not in the list`);
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
    const word = (arenaAt + places.remotesAt) / 4 + index * ENTRY_WORDS;
    writeRemote(memory.uint32, word, remote);
    memory.uint32[word + REMOTE_LOCAL_DEVICE] = plan.localDevices[index] ?? 0;
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

export function arenaFull(bytes: number): TcpxError {
  return new TcpxError(
    'ERR_CONFIG_VALUE',
    `no ${bytes} bytes left for descriptors: release requests or raise memory.arenaBytes`,
  );
}
