// Registered memory: what peers may reach. The registry owns the table entries; a region keeps
// its memory alive while it is registered.

import { randomFillSync, randomInt } from 'node:crypto';
import { inspect, types } from 'node:util';
import { wrongArgument } from '../base/argument.js';
import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';
import { addressOf } from '../ffi/libc/library.js';
import {
  REGION_DEVICE,
  REGION_GENERATION,
  REGION_KEY,
  REGION_RIGHTS,
  REGION_USERS,
  type RegionTable,
  RIGHT_READ,
  RIGHT_WRITE,
  regionWord,
  writeRegionExpiry,
  writeRegionRange,
} from './region-table.js';

/** What peers may do with a region. */
export interface RegionRights {
  /** Whether they may fetch from it. */
  readonly read: boolean;
  /** Whether they may write to it. */
  readonly write: boolean;
}

/** Memory of the caller: JavaScript-owned, or a raw range whose owner promises to keep it. */
export type RegionSource =
  | ArrayBufferView
  | ArrayBuffer
  | SharedArrayBuffer
  | { readonly addr: number; readonly bytes: number }
  | DeviceRange;

/** Memory of a GPU, by its ordinal and the driver's address. */
export interface DeviceRange {
  /** CUDA ordinal of the GPU. */
  readonly device: number;
  /** Address on it. */
  readonly addr: number;
  /** Length. */
  readonly bytes: number;
}

/** What a peer needs to reach a region; made by the owner, opaque to the peer. */
export interface RegionDescriptor {
  /** Place in its owner's table. */
  readonly slot: number;
  /** Which user of that place it is. */
  readonly generation: number;
  /** Length of the region. */
  readonly bytes: number;
  /** 32 hexadecimal digits. */
  readonly key: string;
  /** GPU of the owner that the memory lies on; absent for host memory. */
  readonly device?: number;
  /** The owner's plugin reaches it: matched transfers can take it. */
  readonly isPluginShared?: boolean;
}

/** A part of a region, here or at a peer: bytes `offset` to `offset + bytes`. */
export interface RegionSlice<R> {
  /** What it is a part of. */
  readonly region: R;
  /** Where it begins there, in bytes. */
  readonly offset: number;
  /** Its length. */
  readonly bytes: number;
}

/** From byte `from` up to, not including, byte `to`; as of arrays, but never beyond the end. */
export function sliceRegion<R extends { readonly bytes: number }>(
  region: R,
  from = 0,
  to = wholeOf(region),
): RegionSlice<R> {
  const whole = wholeOf(region);
  if (!Number.isSafeInteger(from)) throw wrongArgument('slice: from', 'a whole number', from);
  if (!Number.isSafeInteger(to)) throw wrongArgument('slice: to', 'a whole number', to);
  if (from < 0 || to <= from || to > whole) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `slice: ${from} to ${to} is not inside a region of ${whole} bytes`,
    );
  }
  return { region, offset: from, bytes: to - from };
}

// Programs without types pass anything.
function wholeOf(region: { readonly bytes: number } | null | undefined): number {
  const bytes: unknown = region?.bytes;
  if (typeof bytes === 'number') return bytes;
  throw wrongArgument('slice: of what', 'a region or a descriptor', region);
}

/** On what terms memory is registered. */
export interface RegionTerms {
  /** After this time peers are refused (ERR_PEER_EXPIRED); the region stays registered. */
  readonly expiresMs?: number;
}

/** Memory that was registered with an engine. */
export interface Region {
  /** Number of its place in the table of regions. */
  readonly id: number;
  /** How often that place was used: tells it from earlier ones. */
  readonly generation: number;
  /** Address of its first byte. */
  readonly addr: number;
  /** Length. */
  readonly bytes: number;
  /** GPU that the memory lies on; absent for host memory. */
  readonly device?: number;
  /** What peers may do with it. */
  readonly rights: RegionRights;
  /** What a peer needs to reach it; plain data, to be sent as you like. */
  readonly descriptor: RegionDescriptor;
  /** The registered memory itself; held here so that it lives as long as the registration. */
  readonly source: RegionSource;
  /** Bytes `from` up to, not including, `to`, as a block takes them. */
  slice(from?: number, to?: number): RegionSlice<Region>;
}

/** A descriptor is meant to travel, so JSON has the key; whatever prints for people has not. */
export function hideKey(descriptor: RegionDescriptor): RegionDescriptor {
  const shown = { ...descriptor, key: '[hidden]' };
  return Object.defineProperty(descriptor, inspect.custom, { value: () => shown });
}

// Neither the key nor the contents: a program that wants to send it takes its descriptor.
function printBriefly(region: Region): void {
  const { id, generation, bytes, device, rights } = region;
  const names = ['read', 'write'].filter((name) => rights[name as keyof RegionRights]);
  const may = names.length === 0 ? 'no rights' : names.join(' and ');
  const where = device === undefined ? '' : ` of GPU ${device}`;
  const line = `Region { ${id}, ${formatBytes(bytes)}${where}, ${may} }`;
  const shown = { id, generation, bytes, device, rights };
  Object.defineProperty(region, inspect.custom, { value: () => line });
  Object.defineProperty(region, 'toJSON', { value: () => shown });
}

const GENERATION_MAX = 0x7fffffff;

export class RegionRegistry {
  readonly #table: RegionTable;
  readonly #regions: (Region | undefined)[] = [];
  readonly #generations: number[] = [];
  /** Drawn anew by every process: a descriptor from before a restart is stale, not a wrong key. */
  readonly #firstGeneration = randomInt(GENERATION_MAX);
  /** How many wait to deregister it: it opens again only when all have given up. */
  readonly #closers = new Map<Region, number>();

  constructor(table: RegionTable) {
    this.#table = table;
  }

  register(
    source: RegionSource,
    rights: RegionRights,
    terms: RegionTerms = {},
    isPluginShared = false,
  ): Region {
    const { addr, bytes } = memoryRange(source);
    const expiryUs = expiryOf(this.#table, terms.expiresMs);
    const place = isDeviceRange(source) ? { device: source.device } : {};
    const shared = isPluginShared ? { isPluginShared } : {};
    const slot = this.#freeSlot();
    const generation = nextGeneration(this.#generations[slot] ?? this.#firstGeneration);
    const key = randomFillSync(new Uint8Array(16));
    const region: Region = {
      id: slot,
      generation,
      addr,
      bytes,
      ...place,
      rights,
      source,
      descriptor: hideKey({
        slot,
        generation,
        bytes,
        key: Buffer.from(key).toString('hex'),
        ...place,
        ...shared,
      }),
      slice: (from, to) => sliceRegion(region, from, to),
    };
    printBriefly(region);
    this.#regions[slot] = region;
    this.#generations[slot] = generation;
    writeRegionExpiry(this.#table, slot, expiryUs);
    this.#publish(region, key);
    return region;
  }

  #freeSlot(): number {
    let slot = this.#regions.indexOf(undefined);
    if (slot < 0) slot = this.#regions.length;
    if (slot < this.#table.count) return slot;
    throw new TcpxError(
      'ERR_CONFIG_VALUE',
      `register: ${this.#table.count} regions are registered, memory.regionsMax allows no more`,
    );
  }

  #publish(region: Region, key: Uint8Array): void {
    const { int32 } = this.#table;
    const slot = region.id;
    writeRegionRange(this.#table, slot, region.addr, region.bytes);
    int32[regionWord(slot, REGION_RIGHTS)] =
      (region.rights.read ? RIGHT_READ : 0) | (region.rights.write ? RIGHT_WRITE : 0);
    int32[regionWord(slot, REGION_DEVICE)] = (region.device ?? -1) + 1;
    const keyView = new DataView(key.buffer);
    for (let index = 0; index < 4; index++) {
      int32[regionWord(slot, REGION_KEY) + index] = keyView.getInt32(index * 4, true);
    }
    Atomics.store(int32, regionWord(slot, REGION_GENERATION), region.generation);
  }

  isRegistered(region: Region): boolean {
    return this.#regions[region.id] === region;
  }

  /** Accesses in progress: by peers, and by transfers posted here. */
  users(region: Region): number {
    return Atomics.load(this.#table.int32, regionWord(region.id, REGION_USERS));
  }

  assertRegistered(region: Region): void {
    if (!this.isRegistered(region)) throw staleUse(region);
  }

  /** A transfer that was posted here uses the memory until release. */
  retain(region: Region): void {
    this.assertRegistered(region);
    Atomics.add(this.#table.int32, regionWord(region.id, REGION_USERS), 1);
  }

  release(region: Region): void {
    const users = Atomics.sub(this.#table.int32, regionWord(region.id, REGION_USERS), 1);
    assert(users > 0, 'a region is released as often as it was retained');
  }

  /** From now on every new access is refused; those in progress go on. */
  beginClose(region: Region): void {
    if (!this.isRegistered(region)) throw staleUse(region);
    this.#closers.set(region, (this.#closers.get(region) ?? 0) + 1);
    Atomics.store(this.#table.int32, regionWord(region.id, REGION_GENERATION), -region.generation);
  }

  /** Takes beginClose back. */
  cancelClose(region: Region): void {
    if (!this.isRegistered(region)) return;
    const closers = this.#closers.get(region);
    assert(closers !== undefined && closers > 0, 'a close that is taken back was begun');
    this.#closers.set(region, closers - 1);
    if (closers > 1) return;
    Atomics.store(this.#table.int32, regionWord(region.id, REGION_GENERATION), region.generation);
  }

  /** Does nothing when it has happened already: the slot may belong to somebody else by now. */
  finishClose(region: Region): void {
    if (!this.isRegistered(region)) return;
    Atomics.store(this.#table.int32, regionWord(region.id, REGION_GENERATION), 0);
    this.#regions[region.id] = undefined;
    this.#closers.delete(region);
  }
}

function expiryOf(table: RegionTable, expiresMs: number | undefined): number {
  if (expiresMs === undefined) return 0;
  if (!(expiresMs > 0) || !Number.isFinite(expiresMs)) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `register: expiresMs is a time above 0, not ${expiresMs}`,
    );
  }
  return table.clock.nowUs() + expiresMs * 1000;
}

function staleUse(region: Region): TcpxError {
  return new TcpxError(
    'ERR_USAGE_STATE',
    `region ${region.id}: generation ${region.generation} is not registered`,
  );
}

function nextGeneration(generation: number): number {
  return generation >= GENERATION_MAX ? 1 : generation + 1;
}

export function isDeviceRange(source: RegionSource): source is DeviceRange {
  return 'device' in source;
}

function isRawRange(source: unknown): source is { readonly addr: number; readonly bytes: number } {
  return typeof source === 'object' && source !== null && 'addr' in source;
}

/** Programs without types pass anything. */
export function checkMemory(source: unknown): void {
  if (isRawRange(source) || ArrayBuffer.isView(source) || types.isAnyArrayBuffer(source)) return;
  const memory = 'a Buffer, a typed array, an ArrayBuffer, or { addr, bytes }';
  throw wrongArgument('register: memory', memory, source);
}

/** Where it lies; refuses what may move. */
export function memoryRange(source: RegionSource): { addr: number; bytes: number } {
  checkMemory(source);
  const isRaw = isRawRange(source);
  const bytes = isRaw ? source.bytes : source.byteLength;
  if (!Number.isSafeInteger(bytes) || bytes <= 0) {
    throw wrongArgument('register: the length', 'at least 1 byte', bytes);
  }
  if (!isRaw) {
    const buffer = ArrayBuffer.isView(source) ? source.buffer : source;
    if (types.isArrayBuffer(buffer) && buffer.resizable) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'register: a resizable buffer may move');
    }
    return { addr: addressOf(source), bytes };
  }
  if (!Number.isSafeInteger(source.addr) || source.addr <= 0) {
    throw wrongArgument('register: addr', 'an address', source.addr);
  }
  return { addr: source.addr, bytes };
}
