// Where the bytes of a planned chunk lie: one place, or the pieces of a gathered one. Neighbours
// that lie behind each other in memory become one piece. Pure.

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
  const first = plan.blocks[index] ?? 0;
  const count = plan.blockCounts[index] ?? 1;
  const place = places[first] ?? DISCARD;
  if (place.region === NO_REGION) return DISCARD;
  if (count === 1) {
    return { region: place.region, offset: place.offset + (plan.blockOffsets[index] ?? 0) };
  }
  const used = fillRows(plan, first, count, places);
  const whole = { region: rows[PIECE_REGION] ?? 0, offset: rows[PIECE_OFFSET] ?? 0 };
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
    const bytes = plan.blockBytes[block] ?? 0;
    if (bytes === 0) continue;
    const { region, offset } = places[block] ?? DISCARD;
    const last = (used - 1) * PIECE_FIELDS;
    const end = used === 0 ? 0 : (rows[last + PIECE_OFFSET] ?? 0) + (rows[last + PIECE_BYTES] ?? 0);
    if (used > 0 && rows[last + PIECE_REGION] === region && end === offset) {
      rows[last + PIECE_BYTES] = (rows[last + PIECE_BYTES] ?? 0) + bytes;
      continue;
    }
    const at = used++ * PIECE_FIELDS;
    rows[at + PIECE_REGION] = region;
    rows[at + PIECE_OFFSET] = offset;
    rows[at + PIECE_BYTES] = bytes;
  }
  return used;
}
