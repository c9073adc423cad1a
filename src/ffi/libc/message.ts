// Vectored I/O tables: a msghdr and its iovecs in fixed memory, prepared once, refilled per call.
// The calls themselves are in message.hot.ts.
//
//   0        56   64                             64 + 16 × entries
//   ┌─────────┬───┬───────────┬───────────┬─ … ─┐
//   │ msghdr  │pad│ iovec 0   │ iovec 1   │     │     iovec = base u64, length u64
//   └─────────┴───┴───────────┴───────────┴─ … ─┘

import { dropPages, type Mapping, mapMemory, unmapMemory, viewMapping } from './mapping.js';

export const IOV_ENTRIES_MAX = 1024; // UIO_MAXIOV of the kernel
export const HEADER_BYTES = 64;
export const IOV_BYTES = 16;

export interface IovTable {
  readonly headerAddr: number;
  /**
   * The same address, boxed once: beside a null the array holds the number as an object, which
   * calls take as it is, where the field above would be boxed anew for each.
   */
  readonly boxedHeaderAddr: readonly [number, null];
  /** The whole table as 32-bit words; iovec i starts at word (HEADER_BYTES + i × IOV_BYTES) / 4. */
  readonly words: Uint32Array;
}

const TABLE_BYTES = HEADER_BYTES + IOV_ENTRIES_MAX * IOV_BYTES;

/**
 * Tables of this thread that wait for the next port. Node frees what it knows of a view in a turn
 * of the thread's event loop, and lanes have none.
 */
const spare: IovTable[] = [];
/** A flood of connections leaves no more behind. */
let spareMax = 1024;
/** So many keep their pages: to drop them and fault them in anew takes longer. */
const WARM_MAX = 24;

/** Of this thread. */
export function limitSpareTables(most: number): void {
  spareMax = most;
}

export function createIovTable(): IovTable {
  const table = spare.pop();
  if (table !== undefined) return table;
  const mapping = mapMemory(TABLE_BYTES, { isLow: true });
  return {
    headerAddr: mapping.addr,
    boxedHeaderAddr: [mapping.addr, null],
    words: new Uint32Array(viewMapping(mapping)),
  };
}

/** The table must not be used, nor its words touched, after this. */
export function destroyIovTable(table: IovTable): void {
  const mapping = mappingOf(table);
  const hasRoom = spare.length < spareMax;
  const isWarm = hasRoom && spare.length < WARM_MAX;
  if (isWarm || (hasRoom && dropPages(mapping))) spare.push(table);
  else unmapMemory(mapping);
}

/** A thread that ends leaves no mapping. */
export function unmapSpareTables(): void {
  for (const table of spare.splice(0)) unmapMemory(mappingOf(table));
}

function mappingOf({ headerAddr }: IovTable): Mapping {
  return { addr: headerAddr, bytes: TABLE_BYTES };
}
