// Where the bytes of a planned chunk lie: one place, or the pieces of a gathered one. Neighbours
// that lie behind each other in memory become one piece. Pure.

import { at, floatAt, wordAt } from '../../base/assert.js';
import { GATHERED_BLOCKS_MAX, type MatchedPlan } from '../../flow/matched-plan.js';
import { NO_REGION, PIECE_BYTES, PIECE_FIELDS, PIECE_OFFSET, PIECE_REGION } from './host-layout.js';

/** Where a block lies; region NO_REGION throws it away. */
export interface BlockPlace {
  readonly region: number;
  readonly offset: number;
}

export const DISCARD: BlockPlace = { region: NO_REGION, offset: 0 };

export interface ChunkPlace extends BlockPlace {
  /** Rows of PIECE_FIELDS numbers; undefined where one place has all of it. */
  readonly pieces?: Float64Array;
}

const rows = new Float64Array(GATHERED_BLOCKS_MAX * PIECE_FIELDS);

export function chunkPlace(
  plan: MatchedPlan,
  index: number,
  places: readonly BlockPlace[],
): ChunkPlace {
  const first = wordAt(plan.blocks, index);
  const count = wordAt(plan.blockCounts, index);
  const place = at(places, first);
  if (place.region === NO_REGION) return DISCARD;
  if (count === 1) {
    return { region: place.region, offset: place.offset + floatAt(plan.blockOffsets, index) };
  }
  const used = fillRows(plan, first, count, places);
  const whole = { region: floatAt(rows, PIECE_REGION), offset: floatAt(rows, PIECE_OFFSET) };
  return used === 1 ? whole : { ...whole, pieces: rows.slice(0, used * PIECE_FIELDS) };
}

function fillRows(
  plan: MatchedPlan,
  first: number,
  count: number,
  places: readonly BlockPlace[],
): number {
  let used = 0;
  for (let block = first; block < first + count; block++) {
    const bytes = floatAt(plan.blockBytes, block);
    if (bytes === 0) continue;
    const { region, offset } = at(places, block);
    if (used > 0 && isBehind((used - 1) * PIECE_FIELDS, region, offset)) {
      const last = (used - 1) * PIECE_FIELDS;
      rows[last + PIECE_BYTES] = floatAt(rows, last + PIECE_BYTES) + bytes;
      continue;
    }
    const row = used++ * PIECE_FIELDS;
    rows[row + PIECE_REGION] = region;
    rows[row + PIECE_OFFSET] = offset;
    rows[row + PIECE_BYTES] = bytes;
  }
  return used;
}

/** Whether a place begins where the piece of a row ends. */
function isBehind(row: number, region: number, offset: number): boolean {
  const end = floatAt(rows, row + PIECE_OFFSET) + floatAt(rows, row + PIECE_BYTES);
  return rows[row + PIECE_REGION] === region && end === offset;
}
