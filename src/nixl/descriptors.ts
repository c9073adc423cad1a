// Descriptors: what a registration, a transfer and a peer's metadata say about memory. Pure.

import { checkBytes, checkWhole } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { type MemType, memTypeName } from './memory-type.js';

/** `len` of a storage region without an end; written as 2^64 − 1. */
export const UNBOUNDED_LEN = Number.POSITIVE_INFINITY;

/** A range of memory. */
export interface BasicDesc {
  /** Address of its first byte. */
  readonly addr: number;
  /** Length in bytes. */
  readonly len: number;
  /** Device that it is on; 0 for host memory. */
  readonly devId: number;
}

/** A descriptor with bytes attached: at registration the caller's, in metadata the region's key. */
export interface BlobDesc extends BasicDesc {
  /** Bytes that travel with the range, as the application wants. */
  readonly metaInfo?: Uint8Array;
}

/** Ranges to register. */
export interface RegDlist {
  /** Memory that all of them are in. */
  readonly memType: MemType;
  /** The ranges. */
  readonly descs: readonly BlobDesc[];
}

/** NIXL's order: device, then address, then length. */
export function compareDescs(a: BasicDesc, b: BasicDesc): number {
  if (a.devId !== b.devId) return a.devId - b.devId;
  if (a.addr !== b.addr) return a.addr - b.addr;
  return a.len === b.len ? 0 : a.len - b.len;
}

export function formatDesc(memType: number, desc: BasicDesc): string {
  return `${memTypeName(memType)} 0x${desc.addr.toString(16)}+${desc.len} dev ${desc.devId}`;
}

/** A descriptor from the caller: whole numbers that JavaScript holds exactly. */
export function checkDesc(memType: number, desc: BasicDesc, attempted: string): void {
  const isUsable =
    isCount(desc.addr) && isCount(desc.devId) && isCount(desc.len) && isCount(desc.addr + desc.len);
  if (isUsable) return;
  checkWhole(`${attempted}: addr`, desc.addr);
  checkWhole(`${attempted}: len`, desc.len);
  checkWhole(`${attempted}: devId`, desc.devId);
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${attempted}: ${formatDesc(memType, desc)} is not a range below 2^53`,
    { facts: { addr: desc.addr, len: desc.len, devId: desc.devId } },
  );
}

/** To register: a transfer may move pieces of no bytes, but a region of none has no key. */
export function checkRegionDesc(memType: number, desc: BasicDesc, attempted: string): void {
  checkDesc(memType, desc, attempted);
  if (desc.len > 0) return;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `${attempted}: ${formatDesc(memType, desc)} holds no byte`,
  );
}

/** What can be written down; whether it makes sense, the reader says. */
export function checkDescs(attempted: string, descs: readonly BlobDesc[]): void {
  for (const { addr, len, devId, metaInfo } of descs) {
    checkWhole(`${attempted}: addr`, addr);
    if (len !== UNBOUNDED_LEN) checkWhole(`${attempted}: len`, len);
    checkWhole(`${attempted}: devId`, devId);
    if (metaInfo !== undefined) checkBytes(`${attempted}: metaInfo`, metaInfo);
  }
}

export function bytesOf(list: RegDlist): number {
  return list.descs.reduce((sum, desc) => sum + desc.len, 0);
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
