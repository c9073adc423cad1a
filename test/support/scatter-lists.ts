// Random fragment lists and block tables from a seed, with content to copy: shared by the tests of
// the CPU contract, the tests of the kernels and the GPU benchmark.

import type { Random } from '../../src/base/random.js';
import { BLOCK_ENTRY_PARTS, type Block, writeBlock } from '../../src/gpu/block-table.js';
import { ENTRY_PARTS } from '../../src/gpu/scatter-entry.js';
import { type Fragment, writeFragment } from '../../src/gpu/scatter-list.js';

export interface ListShape {
  readonly messageBytes: number;
  readonly fragmentBytesMin: number;
  readonly fragmentBytesMax: number;
  /** Each fragment starts in a slot of this many bytes of the bounce buffer… */
  readonly slotBytes: number;
  /** …at a random place of it, or at its start. */
  readonly isAligned: boolean;
}

export interface RandomList {
  readonly fragments: readonly Fragment[];
  readonly entries: Uint32Array;
  readonly bounceBytes: number;
}

/** Fragments cover the message once, in shuffled order, from shuffled slots. */
export function randomList(random: Random, shape: ListShape): RandomList {
  const lengths: number[] = [];
  for (let left = shape.messageBytes; left > 0; left -= lengths.at(-1) ?? 0) {
    const wanted = random.nextBetween(shape.fragmentBytesMin, shape.fragmentBytesMax);
    lengths.push(Math.min(left, wanted));
  }
  const slots = shuffled(random, [...lengths.keys()]);
  let targetOffset = 0;
  const fragments = lengths.map((bytes, index) => {
    const room = shape.isAligned ? 0 : shape.slotBytes - bytes;
    const sourceOffset = (slots[index] ?? 0) * shape.slotBytes + random.nextBetween(0, room);
    const fragment = { sourceOffset, bytes, targetOffset };
    targetOffset += bytes;
    return fragment;
  });
  const inOrder = shuffled(random, fragments);
  const entries = new Uint32Array(inOrder.length * ENTRY_PARTS);
  for (const [index, fragment] of inOrder.entries()) writeFragment(entries, index, fragment);
  return { fragments: inOrder, entries, bounceBytes: lengths.length * shape.slotBytes };
}

export interface TableShape {
  readonly count: number;
  readonly blockBytesMin: number;
  readonly blockBytesMax: number;
  readonly slotBytes: number;
  readonly isAligned: boolean;
}

export interface RandomTable {
  readonly blocks: readonly Block[];
  readonly table: Uint32Array;
  readonly regionBytes: number;
  readonly stagingBytes: number;
}

/** Blocks at shuffled places of a region, packed end to end in the staging buffer. */
export function randomTable(random: Random, shape: TableShape): RandomTable {
  const slots = shuffled(random, [...Array(shape.count).keys()]);
  let stagingBytes = 0;
  const blocks = slots.map((slot) => {
    const bytes = random.nextBetween(shape.blockBytesMin, shape.blockBytesMax);
    const room = shape.isAligned ? 0 : shape.slotBytes - bytes;
    const offset = slot * shape.slotBytes + random.nextBetween(0, room);
    const block = { offset, stagingOffset: stagingBytes, bytes };
    stagingBytes += bytes;
    return block;
  });
  const table = new Uint32Array(shape.count * BLOCK_ENTRY_PARTS);
  for (const [index, block] of blocks.entries()) writeBlock(table, index, block);
  return { blocks, table, regionBytes: shape.count * shape.slotBytes, stagingBytes };
}

export function randomBytes(random: Random, bytes: number): Uint8Array {
  const content = new Uint8Array(bytes);
  for (let index = 0; index < bytes; index++) content[index] = random.nextUint32();
  return content;
}

export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = random.nextBetween(0, last);
    const held = result[last] as T;
    result[last] = result[other] as T;
    result[other] = held;
  }
  return result;
}
