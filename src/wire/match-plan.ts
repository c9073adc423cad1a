// Body of PLAN: the blocks of a request as its initiator describes them, once for all posts. From
// lengths, chunk size, weights and gathering both ends derive the same chunks. Columns: a request
// of very many blocks costs no object for each.
//
//   chunkBytes u32 · gatherBytes u32 · channels u16 · weight u16 each
//   regions u32 · { slot u32, generation u32, key 16 bytes } each
//   blocks u32 · region u32 each · (to a multiple of 8) · offset f64 each · bytes f64 each

import { TcpxError } from '../base/errors.js';

export const PLAN_REGION_BYTES = 24;
export const PLAN_BLOCK_BYTES = 20;
const KEY_BYTES = 16;
const FIXED_BYTES = 18;
const CHANNELS_MAX = 16;

export interface PlannedBlocks {
  readonly chunkBytes: number;
  /** Blocks up to this size are gathered. */
  readonly gatherBytes: number;
  /** One per channel. */
  readonly weights: readonly number[];
  /** Of the peer that the plan is sent to. */
  readonly regions: readonly PlannedRegion[];
  readonly regionIndexes: Uint32Array;
  readonly offsets: Float64Array;
  readonly lengths: Float64Array;
}

export interface PlannedRegion {
  readonly slot: number;
  readonly generation: number;
  /** KEY_BYTES. */
  readonly key: Uint8Array;
}

export function encodeMatchPlan(plan: PlannedBlocks): Uint8Array {
  const { weights, regions, lengths } = plan;
  const columnsAt = columnsOffset(weights.length, regions.length, lengths.length);
  const bytes = new Uint8Array(columnsAt + 16 * lengths.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, plan.chunkBytes, true);
  view.setUint32(4, plan.gatherBytes, true);
  view.setUint16(8, weights.length, true);
  for (const [index, weight] of weights.entries()) view.setUint16(10 + 2 * index, weight, true);
  let at = 10 + 2 * weights.length;
  view.setUint32(at, regions.length, true);
  at += 4;
  for (const region of regions) {
    view.setUint32(at, region.slot, true);
    view.setUint32(at + 4, region.generation, true);
    bytes.set(region.key, at + 8);
    at += PLAN_REGION_BYTES;
  }
  view.setUint32(at, lengths.length, true);
  at += 4;
  for (const region of plan.regionIndexes) {
    view.setUint32(at, region, true);
    at += 4;
  }
  new Float64Array(bytes.buffer, columnsAt, lengths.length).set(plan.offsets);
  new Float64Array(bytes.buffer, columnsAt + 8 * lengths.length, lengths.length).set(lengths);
  return bytes;
}

/** Checks form and ranges; what regions allow is checked by their owner. */
export function decodeMatchPlan(body: Uint8Array): PlannedBlocks {
  const bytes = body.slice();
  const view = new DataView(bytes.buffer);
  if (bytes.length < FIXED_BYTES) throw broken('too short');
  const channels = view.getUint16(8, true);
  if (channels === 0 || channels > CHANNELS_MAX) throw broken(`${channels} channels`);
  const regionsAt = 10 + 2 * channels;
  const regionCount = countAt(view, regionsAt, PLAN_REGION_BYTES);
  const blocksAt = regionsAt + 4 + regionCount * PLAN_REGION_BYTES;
  const blockCount = countAt(view, blocksAt, PLAN_BLOCK_BYTES);
  const columnsAt = columnsOffset(channels, regionCount, blockCount);
  if (regionCount === 0 || blockCount === 0) throw broken('no blocks');
  if (columnsAt + 16 * blockCount !== bytes.length) throw broken('lengths disagree');
  const regionIndexes = new Uint32Array(blockCount);
  for (let block = 0; block < blockCount; block++) {
    const region = view.getUint32(blocksAt + 4 + 4 * block, true);
    if (region >= regionCount) throw broken(`block ${block} in region ${region}`);
    regionIndexes[block] = region;
  }
  const offsets = new Float64Array(bytes.buffer, columnsAt, blockCount);
  const lengths = new Float64Array(bytes.buffer, columnsAt + 8 * blockCount, blockCount);
  if (!offsets.every(isOffset) || !lengths.every(isLength)) throw broken('a block of no place');
  return {
    chunkBytes: view.getUint32(0, true),
    gatherBytes: view.getUint32(4, true),
    weights: Array.from({ length: channels }, (_, index) => view.getUint16(10 + 2 * index, true)),
    regions: Array.from({ length: regionCount }, (_, index) =>
      readRegion(view, bytes, regionsAt + 4 + index * PLAN_REGION_BYTES),
    ),
    regionIndexes,
    offsets,
    lengths,
  };
}

function readRegion(view: DataView, bytes: Uint8Array, at: number): PlannedRegion {
  return {
    slot: view.getUint32(at, true),
    generation: view.getUint32(at + 4, true),
    key: bytes.subarray(at + 8, at + 8 + KEY_BYTES),
  };
}

function countAt(view: DataView, at: number, itemBytes: number): number {
  if (at + 4 > view.byteLength) throw broken('too short');
  const count = view.getUint32(at, true);
  if (at + 4 + count * itemBytes > view.byteLength) throw broken(`${count} entries do not fit`);
  return count;
}

function columnsOffset(channels: number, regions: number, blocks: number): number {
  const at = FIXED_BYTES + 2 * channels + PLAN_REGION_BYTES * regions + 4 * blocks;
  return Math.ceil(at / 8) * 8;
}

function isOffset(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isLength(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `PLAN: ${rule}`, { facts: { rule } });
}
