// Blocks as programs write them: whole regions, slices, plain memory, or places and lengths.

import { checkNames, wrongArgument } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { Region, RegionDescriptor, RegionSlice } from '../memory/region.js';
import type { Block } from '../provider/block-columns.js';
import { isPlainMemory, type LentMemory, type PlainMemory } from './lent-memory.js';

/**
 * One block of a transfer. What is left out is the whole: offsets are 0, and `bytes` goes to the
 * end of the local memory.
 */
export interface BlockSpec {
  /**
   * Memory of this end: a region, a slice of one, or plain memory: a Buffer, a typed array, a
   * DataView, an ArrayBuffer. Plain memory is registered for this transfer (or until the prepared
   * request is released), which costs some microseconds and a place of `memory.regionsMax` each
   * time, and goes over tcp also where a plugin is open. Register what is used again and again.
   */
  readonly local: Region | RegionSlice<Region> | PlainMemory;
  /** Memory of the peer: what `lookup` found, or a slice of it. */
  readonly remote: RegionDescriptor | RegionSlice<RegionDescriptor>;
  /** Where the block begins in `local`, in bytes; 0 where it is not given. */
  readonly localOffset?: number;
  /** Where it begins in `remote`, in bytes; 0 where it is not given. */
  readonly remoteOffset?: number;
  /** Its length; to the end of `local` where it is not given. */
  readonly bytes?: number;
}

interface Place<R> {
  readonly region: R;
  readonly offset: number;
  /** To the end of the region or slice. */
  readonly room: number;
}

const FIELDS = ['local', 'remote', 'localOffset', 'remoteOffset', 'bytes'];
const LOCAL = 'a region, a slice of one, or a Buffer or typed array';
const REMOTE = 'a descriptor (what lookup found) or a slice of one';

/** `lent` registers what is plain memory. */
export function blockOf(spec: BlockSpec, index: number, lent: LentMemory): Block {
  if (!isRecord(spec)) throw wrong(index, '', 'an object with local and remote', spec);
  // The first alone: who writes a name wrong does so in all, and there may be very many.
  if (index === 0) checkNames('block 0', spec, FIELDS);
  const own = isPlainMemory(spec.local)
    ? lent.lend(spec.local, `block ${index}: local`)
    : spec.local;
  const local = placeOf(own, spec.localOffset, isRegion, index, 'local', LOCAL);
  const remote = placeOf(spec.remote, spec.remoteOffset, isDescriptor, index, 'remote', REMOTE);
  const bytes = spec.bytes === undefined ? local.room : spec.bytes;
  if (!Number.isSafeInteger(bytes)) throw wrong(index, 'bytes', 'a whole number', bytes);
  if (bytes <= 0 || bytes > local.room || bytes > remote.room) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `block ${index}: ${bytes} bytes do not fit between ${local.room} bytes here and ` +
        `${remote.room} at the peer`,
    );
  }
  return {
    local: local.region,
    localOffset: local.offset,
    remote: remote.region,
    remoteOffset: remote.offset,
    bytes,
  };
}

function placeOf<R extends { readonly bytes: number }>(
  memory: R | RegionSlice<R>,
  offset: number | undefined,
  isWhole: (memory: unknown) => memory is R,
  index: number,
  side: 'local' | 'remote',
  what: string,
): Place<R> {
  const slice = sliceOf(memory);
  const region = slice === undefined ? memory : slice.region;
  if (!isWhole(region)) throw wrong(index, side, what, region);
  const start = slice?.offset ?? 0;
  const length = slice?.bytes ?? region.bytes;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(length)) {
    throw wrong(index, side, what, memory);
  }
  const at = offset === undefined ? 0 : offset;
  if (!Number.isSafeInteger(at) || at < 0 || at >= length) {
    throw wrong(index, `${side}Offset`, `a place within its ${length} bytes`, at);
  }
  return { region, offset: start + at, room: length - at };
}

function sliceOf<R>(memory: R | RegionSlice<R>): RegionSlice<R> | undefined {
  return isRecord(memory) && 'region' in memory ? (memory as unknown as RegionSlice<R>) : undefined;
}

function isRegion(memory: unknown): memory is Region {
  return isRecord(memory) && 'descriptor' in memory && 'rights' in memory;
}

function isDescriptor(memory: unknown): memory is RegionDescriptor {
  return isRecord(memory) && typeof memory['key'] === 'string' && 'slot' in memory;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function wrong(index: number, field: string, wanted: string, given: unknown): TcpxError {
  return wrongArgument(field === '' ? `block ${index}` : `block ${index}: ${field}`, wanted, given);
}
