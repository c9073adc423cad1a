// A request as the matched carrier has prepared it: blocks on both sides in columns, neighbours
// merged, described to the peer once.

import { at } from '../../base/assert.js';
import { encodeMatchPlan, type PlannedRegion } from '../../wire/match-plan.js';
import type { CheckedBlocks } from '../block-columns.js';
import type { Prepared } from '../contract.js';
import type { BlockPlace } from './chunk-places.js';
import { type DerivedPlan, derivePlan } from './described-plan.js';

/** Chunks, and how they are described, for one choice of weights. */
export interface WeighedPlan extends DerivedPlan {
  readonly weights: readonly number[];
  /** Body of PLAN. */
  readonly body: Uint8Array;
}

export class MatchedRequest implements Prepared {
  readonly path: 'tcpx' | 'tcpx host-recv';
  readonly chunkCount: number;
  /** Of the blocks, in own memory. */
  readonly places: readonly BlockPlace[];
  readonly lengths: Float64Array;
  /** Own regions that it touches. */
  readonly regions: readonly number[];
  readonly #limits: { readonly chunkBytes: number; readonly gatherBytes: number };
  readonly #remote: {
    readonly regions: readonly PlannedRegion[];
    readonly regionIndexes: Uint32Array;
    readonly offsets: Float64Array;
  };
  #plan: WeighedPlan;

  constructor(
    blocks: CheckedBlocks,
    limits: { readonly chunkBytes: number; readonly gatherBytes: number },
    weights: readonly number[],
    isHostRecv: boolean,
  ) {
    this.path = isHostRecv ? 'tcpx host-recv' : 'tcpx';
    // Where blocks shall have messages of their own, neighbours do too.
    const rows = limits.gatherBytes === 0 ? singleRows(blocks) : mergedRows(blocks);
    this.#limits = limits;
    this.places = rows.map((row) => ({
      region: at(blocks.locals, at(blocks.localIndexes, row.first)).id,
      offset: at(blocks.localOffsets, row.first),
    }));
    this.regions = [...new Set(this.places.map(({ region }) => region))];
    this.lengths = Float64Array.from(rows, ({ bytes }) => bytes);
    this.#remote = {
      regions: blocks.remotes.map(({ slot, generation, key }) => ({
        slot,
        generation,
        key: Uint8Array.from(Buffer.from(key, 'hex')),
      })),
      regionIndexes: Uint32Array.from(rows, ({ first }) => at(blocks.remoteIndexes, first)),
      offsets: Float64Array.from(rows, ({ first }) => at(blocks.remoteOffsets, first)),
    };
    this.#plan = this.#weigh(weights);
    this.chunkCount = this.#plan.plan.chunkCount;
  }

  get current(): WeighedPlan {
    return this.#plan;
  }

  /** The same object as long as the weights stay. */
  planFor(weights: readonly number[]): WeighedPlan {
    const isSame =
      weights.length === this.#plan.weights.length &&
      weights.every((weight, index) => weight === this.#plan.weights[index]);
    if (!isSame) this.#plan = this.#weigh(weights);
    return this.#plan;
  }

  #weigh(weights: readonly number[]): WeighedPlan {
    const shape = { ...this.#limits, weights };
    const derived = derivePlan(this.lengths, shape);
    const body = encodeMatchPlan({ ...shape, ...this.#remote, lengths: this.lengths });
    return { ...derived, weights, body };
  }
}

interface Row {
  readonly first: number;
  bytes: number;
}

function singleRows(blocks: CheckedBlocks): Row[] {
  return Array.from(blocks.bytes.subarray(0, blocks.count), (bytes, first) => ({ first, bytes }));
}

// Blocks that continue each other on both sides are one.
function mergedRows(blocks: CheckedBlocks): Row[] {
  const rows: Row[] = [];
  let last: Row | undefined;
  for (let index = 0; index < blocks.count; index++) {
    const bytes = at(blocks.bytes, index);
    if (last !== undefined && continues(blocks, last, index)) {
      last.bytes += bytes;
      continue;
    }
    last = { first: index, bytes };
    rows.push(last);
  }
  return rows;
}

function continues(blocks: CheckedBlocks, { first, bytes }: Row, next: number): boolean {
  return (
    at(blocks.localIndexes, first) === at(blocks.localIndexes, next) &&
    at(blocks.remoteIndexes, first) === at(blocks.remoteIndexes, next) &&
    at(blocks.localOffsets, first) + bytes === at(blocks.localOffsets, next) &&
    at(blocks.remoteOffsets, first) + bytes === at(blocks.remoteOffsets, next)
  );
}
