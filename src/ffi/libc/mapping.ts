// Mapped memory. A mapping lives until it is unmapped; views of it must be gone by then, because
// a view over unmapped memory is a crash, not an exception.

import { assert } from '../../base/assert.js';
import type { Address, ByteCount } from '../../base/quantity.js';
import {
  addressOf,
  bindFunction,
  checkCall,
  lastErrno,
  resultOrErrno,
  systemCallError,
  viewMemory,
} from './library.js';

const PROT_NONE = 0;
const PROT_READ_WRITE = 3;
const PROT_READ_EXECUTE = 5;
const MAP_SHARED = 0x01;
const MAP_PRIVATE = 0x02;
const MAP_FIXED = 0x10;
const MAP_ANONYMOUS = 0x20;
/** Exists on x86-64 alone. */
const MAP_32BIT = process.arch === 'x64' ? 0x40 : 0;
const MAP_NORESERVE = 0x4000;
const MAP_POPULATE = 0x8000;
const MAP_HUGETLB = 0x40000;
const MFD_CLOEXEC = 1;
/** The largest that a host may have for its ordinary pages. */
const PAGE_BYTES_MAX = 65_536;
const HUGE_PAGE_BYTES = 2 * 1024 * 1024;
const MADV_DONTNEED = 4;
const MADV_DONTFORK = 10;
const MADV_HUGEPAGE = 14;

const mmapC = bindFunction<
  (
    addr: number,
    bytes: number,
    prot: number,
    flags: number,
    fd: number,
    offset: number,
  ) => number | bigint
>('uintptr_t mmap(uintptr_t addr, size_t bytes, int prot, int flags, int fd, int64_t offset)');
const munmapC = bindFunction<(addr: number, bytes: number) => number>(
  'int munmap(uintptr_t addr, size_t bytes)',
);
const madviseC = bindFunction<(addr: number, bytes: number, advice: number) => number>(
  'int madvise(uintptr_t addr, size_t bytes, int advice)',
);
const mprotectC = bindFunction<(addr: number, bytes: number, prot: number) => number>(
  'int mprotect(uintptr_t addr, size_t bytes, int prot)',
);
const memfdCreateC = bindFunction<(name: string, flags: number) => number>(
  'int memfd_create(const char *name, unsigned int flags)',
);
const ftruncateC = bindFunction<(fd: number, bytes: number) => number>(
  'int ftruncate(int fd, int64_t bytes)',
);
const posixFallocateC = bindFunction<(fd: number, offset: number, bytes: number) => number>(
  'int posix_fallocate(int fd, int64_t offset, int64_t bytes)',
);
// Declared without its result: an address would be boxed for every copy.
const memcpyC = bindFunction<(target: number, source: number, bytes: number) => void>(
  'void memcpy(uintptr_t target, uintptr_t source, size_t bytes)',
);

export interface Mapping {
  readonly addr: number;
  readonly bytes: number;
}

export interface MapOptions {
  /** Map this descriptor, shared with whoever maps it too, instead of private memory. */
  readonly fd?: number;
  /** Reserve address space only; pages come when touched. */
  readonly isReserveOnly?: boolean;
  /** Touch every page now, so that the first transfer does not fault. */
  readonly isPopulated?: boolean;
  /** Explicit huge pages: fails with ENOMEM where none are reserved. */
  readonly isHuge?: boolean;
  /**
   * Below 2 GiB where there is room: such an address is a small integer, which a call takes as it
   * is, while any other becomes an object for the collector in every call.
   */
  readonly isLow?: boolean;
}

/** Maps memory, or returns −errno. */
export function tryMapMemory(bytes: number, options: MapOptions = {}): Mapping | number {
  assert(Number.isSafeInteger(bytes) && bytes > 0, 'mapping length is positive');
  let flags = options.fd === undefined ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
  if (options.isReserveOnly === true) flags |= MAP_NORESERVE;
  if (options.isPopulated === true) flags |= MAP_POPULATE;
  if (options.isHuge === true) flags |= MAP_HUGETLB;
  const low = options.isLow === true ? MAP_32BIT : 0;
  const fd = options.fd ?? -1;
  if (fd >= 0 && low === 0 && bytes >= HUGE_PAGE_BYTES) return mapAligned(bytes, flags, fd);
  let addr = mmapC(0, bytes, PROT_READ_WRITE, flags | low, fd, 0);
  if (typeof addr === 'bigint' && low !== 0) {
    addr = mmapC(0, bytes, PROT_READ_WRITE, flags, fd, 0);
  }
  return mappingAt(addr, bytes);
}

// MAP_FAILED is 2^64 − 1, which comes back as a BigInt, as would an address beyond 53 bits.
function mappingAt(addr: number | bigint, bytes: number): Mapping | number {
  return typeof addr === 'bigint' ? -lastErrno() : { addr, bytes };
}

// Huge pages of a file are mapped as such only at a multiple of their size.
function mapAligned(bytes: number, flags: number, fd: number): Mapping | number {
  const room = Math.ceil(bytes / PAGE_BYTES_MAX) * PAGE_BYTES_MAX + HUGE_PAGE_BYTES;
  const reserving = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const place = mappingAt(mmapC(0, room, PROT_NONE, reserving, -1, 0), room);
  if (typeof place === 'number') return place;
  const addr = Math.ceil(place.addr / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
  const end = addr + room - HUGE_PAGE_BYTES;
  if (addr > place.addr) unmapMemory({ addr: place.addr, bytes: addr - place.addr });
  unmapMemory({ addr: end, bytes: place.addr + room - end });
  const mapping = mappingAt(mmapC(addr, bytes, PROT_READ_WRITE, flags | MAP_FIXED, fd, 0), bytes);
  if (typeof mapping === 'number') unmapMemory({ addr, bytes: end - addr });
  return mapping;
}

export function mapMemory(bytes: number, options: MapOptions = {}): Mapping {
  const mapping = tryMapMemory(bytes, options);
  if (typeof mapping === 'number') {
    throw systemCallError('mmap', `${bytes} bytes`, -mapping);
  }
  return mapping;
}

export function unmapMemory(mapping: Mapping): void {
  const result = resultOrErrno(munmapC(mapping.addr, mapping.bytes));
  checkCall('munmap', `${mapping.bytes} bytes`, result);
}

/** Asks for transparent huge pages; false where the kernel declines. */
export function adviseHugePages(mapping: Mapping): boolean {
  return madviseC(mapping.addr, mapping.bytes, MADV_HUGEPAGE) === 0;
}

/**
 * Gives the pages of a private mapping back; the place stays, and is zero when it is touched again.
 * Who refers to the old pages (a pipe, a socket) keeps them as they are. False for locked pages.
 */
export function dropPages(mapping: Mapping): boolean {
  return resultOrErrno(madviseC(mapping.addr, mapping.bytes, MADV_DONTNEED)) === 0;
}

/** A child process does not get these pages; without, a fork could move them away from a device. */
export function keepFromChildren(mapping: Mapping): void {
  const result = resultOrErrno(madviseC(mapping.addr, mapping.bytes, MADV_DONTFORK));
  checkCall('madvise', `${mapping.bytes} bytes`, result);
}

/**
 * Puts fresh pages at the place of a private mapping's. Who refers to the old ones (a pipe, a
 * socket) keeps them as they are. Throws where the kernel has none; the place is lost then, and may
 * become somebody else's.
 */
export function renewPages(range: Mapping): void {
  const flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE;
  const addr = mmapC(range.addr, range.bytes, PROT_READ_WRITE, flags, -1, 0);
  if (typeof addr === 'bigint') {
    throw systemCallError('mmap', `${range.bytes} fresh bytes at a fixed address`, lastErrno());
  }
  keepFromChildren(range);
}

/** An anonymous file in memory, for sharing between processes. */
export function createMemoryFile(name: string, bytes: number): number {
  const fd = checkCall('memfd_create', name, resultOrErrno(memfdCreateC(name, MFD_CLOEXEC)));
  checkCall('ftruncate', name, resultOrErrno(ftruncateC(fd, bytes)));
  return fd;
}

/** Gives a file its length and its memory; without the latter a touch would end the process. */
export function reserveFile(fd: number, name: string, bytes: number): void {
  // Returns the error instead of setting errno.
  checkCall('posix_fallocate', name, -posixFallocateC(fd, 0, bytes));
}

export function viewMapping(mapping: Mapping): ArrayBuffer {
  return viewMemory(mapping.addr, mapping.bytes);
}

/**
 * Machine code, readable and executable and no longer writable; undefined where this process may
 * have none.
 */
export function tryMapCode(code: Uint8Array): Mapping | undefined {
  const mapping = tryMapMemory(code.length);
  if (typeof mapping === 'number') return undefined;
  copyMemory(mapping.addr, addressOf(code), code.length);
  if (mprotectC(mapping.addr, mapping.bytes, PROT_READ_EXECUTE) === 0) return mapping;
  unmapMemory(mapping);
  return undefined;
}

/** Copies between two addresses; the ranges must not overlap. */
export function copyMemory(targetAddr: Address, sourceAddr: Address, bytes: ByteCount): void {
  memcpyC(targetAddr, sourceAddr, bytes);
}
