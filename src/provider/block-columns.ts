// What a request moves, checked: blocks of two regions, as columns, whatever provider will carry
// them. Pure.

import { checkList, checkRecord, checkWhole, wrongArgument } from '../base/argument.js';
import { at } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { Region, RegionDescriptor } from '../memory/region.js';

/** One block: `bytes` from a place in local memory to a place in the peer's, or back. */
export interface Block {
  /** Memory at this end. */
  readonly local: Region;
  /** First byte in it. */
  readonly localOffset: number;
  /** Memory of the peer, as its owner described it. */
  readonly remote: RegionDescriptor;
  /** First byte in that. */
  readonly remoteOffset: number;
  /** How many bytes move. */
  readonly bytes: number;
}

/** Many blocks without an object for each: row i is one block, its regions named by index. */
export interface BlockColumns {
  /** Number of blocks. */
  readonly count: number;
  /** First byte of each in its local region. */
  readonly localOffsets: Float64Array;
  /** First byte of each in its remote region. */
  readonly remoteOffsets: Float64Array;
  /** Length of each. */
  readonly bytes: Float64Array;
  /** Index of each block's region in `locals`. */
  readonly localIndexes: Uint32Array;
  /** Index of each block's descriptor in `remotes`. */
  readonly remoteIndexes: Uint32Array;
  /** Regions at this end, once each. */
  readonly locals: readonly Region[];
  /** Descriptors of the peer, once each. */
  readonly remotes: readonly RegionDescriptor[];
}

/** Columns of which every row has been checked. */
export interface CheckedBlocks extends BlockColumns {
  /** Sum of all lengths. */
  readonly totalBytes: number;
}

const DOUBLES = ['localOffsets', 'remoteOffsets', 'bytes'] as const;
const INDEXES = ['localIndexes', 'remoteIndexes'] as const;

/** Throws unless every block lies inside its regions and every key has the form of one. */
export function checkBlocks(blocks: readonly Block[] | BlockColumns): CheckedBlocks {
  const rows = isColumns(blocks) ? checkColumns(blocks) : columnsOf(blocks);
  if (rows.count === 0) throw new TcpxError('ERR_USAGE_ARGUMENT', 'a request needs a block');
  for (const local of rows.locals) checkNumbers('local', local, LOCAL_NUMBERS);
  for (const remote of rows.remotes) checkRemote(remote);
  let totalBytes = 0;
  for (let index = 0; index < rows.count; index++) {
    const local = rows.locals[rows.localIndexes[index] ?? -1];
    const remote = rows.remotes[rows.remoteIndexes[index] ?? -1];
    if (local === undefined || remote === undefined) throw noRegion(index);
    const bytes = rows.bytes[index] ?? -1;
    const localOffset = rows.localOffsets[index] ?? -1;
    const remoteOffset = rows.remoteOffsets[index] ?? -1;
    if (!isInside(localOffset, bytes, local.bytes)) {
      throw outside(`block ${index} local`, localOffset, bytes, local.bytes);
    }
    if (!isInside(remoteOffset, bytes, remote.bytes)) {
      throw outside(`block ${index} remote`, remoteOffset, bytes, remote.bytes);
    }
    totalBytes += bytes;
  }
  // Written out here and below: V8 spreads objects slowly, and small requests are many.
  const { count, localOffsets, remoteOffsets, bytes, localIndexes, remoteIndexes } = rows;
  const { locals, remotes } = rows;
  return {
    count,
    localOffsets,
    remoteOffsets,
    bytes,
    localIndexes,
    remoteIndexes,
    locals,
    remotes,
    totalBytes,
  };
}

function isColumns(blocks: readonly Block[] | BlockColumns): blocks is BlockColumns {
  return !Array.isArray(blocks);
}

// Programs without types pass anything. Rows are checked by their reader.
function checkColumns(blocks: BlockColumns): BlockColumns {
  checkWhole('columns: count', blocks.count);
  checkList('columns: locals', blocks.locals);
  checkList('columns: remotes', blocks.remotes);
  for (const local of blocks.locals) checkRecord('columns: one of locals', local);
  for (const remote of blocks.remotes) checkRecord('columns: one of remotes', remote);
  for (const name of DOUBLES) {
    if (!(blocks[name] instanceof Float64Array)) throw wrongColumn(name, 'Float64Array', blocks);
  }
  for (const name of INDEXES) {
    if (!(blocks[name] instanceof Uint32Array)) throw wrongColumn(name, 'Uint32Array', blocks);
  }
  return blocks;
}

function wrongColumn(name: keyof BlockColumns, type: string, blocks: BlockColumns): TcpxError {
  return wrongArgument(`columns: ${name}`, `a ${type}`, blocks[name]);
}

function columnsOf(blocks: readonly Block[]): BlockColumns {
  const locals = new Numbered<Region>();
  const remotes = new Numbered<RegionDescriptor>();
  const count = blocks.length;
  const localOffsets = new Float64Array(count);
  const remoteOffsets = new Float64Array(count);
  const bytes = new Float64Array(count);
  const localIndexes = new Uint32Array(count);
  const remoteIndexes = new Uint32Array(count);
  for (let index = 0; index < count; index++) {
    const block = at(blocks, index);
    localOffsets[index] = block.localOffset;
    remoteOffsets[index] = block.remoteOffset;
    bytes[index] = block.bytes;
    localIndexes[index] = locals.indexOf(block.local);
    remoteIndexes[index] = remotes.indexOf(block.remote);
  }
  return {
    count,
    localOffsets,
    remoteOffsets,
    bytes,
    localIndexes,
    remoteIndexes,
    locals: locals.items,
    remotes: remotes.items,
  };
}

/** Objects in the order of their first appearance. Nearly always the same one follows itself. */
class Numbered<T> {
  readonly items: T[] = [];
  #indexes: Map<T, number> | undefined;
  #last = -1;

  indexOf(item: T): number {
    if (this.#last >= 0 && this.items[this.#last] === item) return this.#last;
    if (this.items.length > 0) {
      this.#indexes ??= new Map(this.items.map((known, index) => [known, index]));
      const known = this.#indexes.get(item);
      if (known !== undefined) {
        this.#last = known;
        return known;
      }
      this.#indexes.set(item, this.items.length);
    }
    this.#last = this.items.push(item) - 1;
    return this.#last;
  }
}

const LOCAL_NUMBERS = ['id', 'generation', 'addr', 'bytes'] as const;
const REMOTE_NUMBERS = ['slot', 'generation', 'bytes'] as const;

// Programs without types pass anything, and what they carried around as JSON.
function checkNumbers<R extends object>(
  side: string,
  region: R,
  names: readonly (keyof R & string)[],
) {
  for (const name of names) checkWhole(`${side}: ${name} of its region`, region[name]);
}

function checkRemote(remote: RegionDescriptor): void {
  checkNumbers('remote', remote, REMOTE_NUMBERS);
  const key: unknown = remote.key;
  if (typeof key === 'string' && /^[0-9a-f]{32}$/.test(key)) return;
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
