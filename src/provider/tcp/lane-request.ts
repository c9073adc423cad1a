// A request as lanes take it: blocks merged and cut into chunks once, posted many times.

import { at } from '../../base/assert.js';
import { TcpxError } from '../../base/errors.js';
import {
  type Chunk,
  emptyColumns,
  mergePairs,
  type PairColumns,
  planChunks,
} from '../../flow/chunk-plan.js';
import {
  CHUNK_BYTES,
  CHUNK_FIRST_PAIR,
  CHUNK_LEFT,
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
} from '../../flow/request-layout.js';
import { GPUS_MAX } from '../../gpu/staging-device.js';
import type { Region, RegionDescriptor } from '../../memory/region.js';
import type { FixedMemory } from '../../os/fixed-memory.js';
import { TABLE_ENTRIES_MAX } from '../../wire/data-frame.js';
import type { CheckedBlocks } from '../block-columns.js';

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

/** Pure: cuts checked blocks into chunks. */
export function planRequest(
  rows: CheckedBlocks,
  limits: { readonly chunkBytes: number; readonly channels: number },
): RequestPlan {
  const groups = new RemoteGroups(rows);
  const columns = emptyColumns(rows.count);
  for (let index = 0; index < rows.count; index++) {
    const local = at(rows.locals, at(rows.localIndexes, index));
    columns.localAddr[index] = local.addr + at(rows.localOffsets, index);
    columns.remoteOffset[index] = at(rows.remoteOffsets, index);
    columns.bytes[index] = at(rows.bytes, index);
    const device = (local.device ?? -1) + 1;
    columns.remoteIndex[index] = groups.indexOf(at(rows.remoteIndexes, index), device);
  }
  const pairs = mergePairs(columns);
  const { chunkBytes, channels } = limits;
  const chunks = planChunks(pairs, { chunkBytes, channels, pairsMax: TABLE_ENTRIES_MAX });
  const { remotes, localDevices } = groups;
  const { locals, totalBytes } = rows;
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

  constructor(rows: CheckedBlocks) {
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
    const remote = at(this.#source, remoteIndex);
    this.localDevices.push(localDevice);
    this.#indexes.set(key, this.remotes.length);
    return this.remotes.push(remote) - 1;
  }
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
  let left = plan.totalBytes;
  for (const [index, chunk] of plan.chunks.entries()) {
    const word = (arenaAt + places.chunksAt) / 4 + index * ENTRY_WORDS;
    memory.uint32[word + CHUNK_FIRST_PAIR] = chunk.firstPair;
    memory.uint32[word + CHUNK_PAIR_COUNT] = chunk.pairCount;
    memory.uint32[word + CHUNK_BYTES] = chunk.bytes;
    memory.uint32[word + CHUNK_REMOTE_INDEX] = chunk.remoteIndex;
    memory.float64[word / 2 + CHUNK_LEFT] = left;
    memory.float64[word / 2 + CHUNK_SKIP] = chunk.skipBytes;
    left -= chunk.bytes;
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
