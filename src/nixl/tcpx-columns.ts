// A request's lists, as the agent resolves them, turned into the engine's columns: no object per
// descriptor, because requests of a hundred thousand descriptors exist.

import { at, floatAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { BlockColumns } from '../engine/internal.js';
import type { Region, RegionDescriptor } from '../memory/region.js';
import type { MetaDlist } from './backend.js';
import type { BlobDesc } from './descriptors.js';

/** What registerMem gives: the region, and the descriptor, which may keep its memory alive. */
export class TcpxRegionMd {
  readonly region: Region;
  readonly desc: BlobDesc;

  constructor(region: Region, desc: BlobDesc) {
    this.region = region;
    this.desc = desc;
  }
}

/** The far side of a region: of a peer, or of this agent for loopback. */
export class TcpxTargetMd {
  readonly agent: string;
  readonly addr: number;
  readonly descriptor: RegionDescriptor;

  constructor(agent: string, addr: number, descriptor: RegionDescriptor) {
    this.agent = agent;
    this.addr = addr;
    this.descriptor = descriptor;
  }
}

/** Pieces of no bytes are left out: the engine moves at least one byte with each. */
export function columnsOf(local: MetaDlist, remote: MetaDlist, agent: string): BlockColumns {
  const rows = rowsWithBytes(local);
  const moved = rowsOf(local, rows);
  const here = sideOf(moved, (md) => {
    if (md instanceof TcpxRegionMd) return { base: md.region.addr, value: md.region };
    throw foreign('local');
  });
  const there = sideOf(rowsOf(remote, rows), (md) => {
    if (!(md instanceof TcpxTargetMd) || md.agent !== agent) throw foreign('remote');
    return { base: md.addr, value: md.descriptor };
  });
  return {
    count: moved.count,
    bytes: moved.lens,
    localOffsets: here.offsets,
    localIndexes: here.indexes,
    locals: here.values,
    remoteOffsets: there.offsets,
    remoteIndexes: there.indexes,
    remotes: there.values,
  };
}

/** Undefined where all have bytes, which is nearly always. */
function rowsWithBytes({ lens }: MetaDlist): Uint32Array | undefined {
  if (!lens.includes(0)) return undefined;
  const rows: number[] = [];
  for (const [row, len] of lens.entries()) if (len > 0) rows.push(row);
  return Uint32Array.from(rows);
}

function rowsOf(list: MetaDlist, rows: Uint32Array | undefined): MetaDlist {
  if (rows === undefined) return list;
  const column = (values: Float64Array) => Float64Array.from(rows, (row) => at(values, row));
  return {
    memType: list.memType,
    count: rows.length,
    addrs: column(list.addrs),
    lens: column(list.lens),
    devIds: column(list.devIds),
    mds: Array.from(rows, (row) => list.mds[row]),
  };
}

/** Offsets and region numbers of one side; neighbours mostly share a region. */
function sideOf<T>(list: MetaDlist, open: (md: unknown) => { base: number; value: T }) {
  const offsets = new Float64Array(list.count);
  const indexes = new Uint32Array(list.count);
  const known = new Map<unknown, number>();
  const bases: number[] = [];
  const values: T[] = [];
  let lastMd: unknown;
  let lastIndex = -1;
  let lastBase = 0;
  for (let row = 0; row < list.count; row++) {
    const md = list.mds[row];
    if (lastIndex < 0 || md !== lastMd) {
      lastIndex = known.get(md) ?? -1;
      if (lastIndex < 0) {
        const { base, value } = open(md);
        lastIndex = values.length;
        known.set(md, lastIndex);
        bases.push(base);
        values.push(value);
      }
      lastMd = md;
      lastBase = at(bases, lastIndex);
    }
    offsets[row] = floatAt(list.addrs, row) - lastBase;
    indexes[row] = lastIndex;
  }
  return { offsets, indexes, values };
}

function foreign(side: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `prepare: a ${side} region is not of this backend`);
}
