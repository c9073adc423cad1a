// A plan as both ends know it: the initiator describes the blocks once, both derive the chunks, and
// later posts name it by its slot. What an end keeps for the other is bounded.

import { at, floatAt } from '../../base/assert.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { type MatchedPlan, planDigest, planMatched } from '../../flow/matched-plan.js';
import { PLAN_SLOTS_MAX } from '../../wire/match-frame.js';
import { decodeMatchPlan, type PlannedBlocks } from '../../wire/match-plan.js';
import type { BlockPlace } from './chunk-places.js';

/** Bytes of plans that one end keeps for the other. */
export const KEPT_PLAN_BYTES_MAX = 16 * 1024 * 1024;

export interface DerivedPlan {
  readonly plan: MatchedPlan;
  readonly digest: number;
}

export function derivePlan(
  lengths: Float64Array,
  shape: Pick<PlannedBlocks, 'chunkBytes' | 'gatherBytes' | 'weights'>,
): DerivedPlan {
  const plan = planMatched(lengths, shape.chunkBytes, shape.weights, shape.gatherBytes);
  return { plan, digest: planDigest(plan) };
}

/** One of the peer's, kept until another takes its slot. */
export interface KeptPlan extends DerivedPlan {
  readonly blocks: PlannedBlocks;
  /** Where the blocks lie in own memory; the regions are checked at every use. */
  readonly places: readonly BlockPlace[];
  /** Per region of the plan: the end of its last byte. */
  readonly ends: Float64Array;
  readonly bytes: number;
}

/** What both ends have agreed on: a plan of the peer's keeps to it. */
export interface PlanTerms {
  readonly chunkBytes: number;
  readonly channelCount: number;
}

export class KeptPlans {
  readonly #slots: (KeptPlan | undefined)[] = [];
  #bytes = 0;

  /** Takes PLAN; throws where form, digest, terms or bounds are wrong. */
  keep(slot: number, body: Uint8Array, digest: number, agreed: PlanTerms): void {
    this.#bytes -= this.#slots[slot]?.bytes ?? 0;
    this.#slots[slot] = undefined;
    if (this.#bytes + body.length > KEPT_PLAN_BYTES_MAX) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `PLAN: more than ${KEPT_PLAN_BYTES_MAX} bytes of plans`,
      );
    }
    const blocks = decodeMatchPlan(body);
    const { chunkBytes, weights } = blocks;
    if (chunkBytes !== agreed.chunkBytes) {
      throw new TcpxError('ERR_WIRE_STATE', `PLAN: chunks of ${chunkBytes} bytes`);
    }
    if (weights.length !== agreed.channelCount) {
      const joined = `${agreed.channelCount} are joined`;
      throw new TcpxError('ERR_WIRE_STATE', `PLAN: ${weights.length} channels, ${joined}`);
    }
    const derived = derivePeersPlan(blocks);
    if (derived.digest !== digest) {
      throw new TcpxError('ERR_WIRE_STATE', `PLAN: digest ${digest}, derived ${derived.digest}`);
    }
    this.#bytes += body.length;
    this.#slots[slot] = { ...derived, blocks, ...placesOf(blocks), bytes: body.length };
  }

  get(slot: number): KeptPlan {
    const plan = this.#slots[slot];
    if (plan !== undefined) return plan;
    throw new TcpxError('ERR_WIRE_STATE', `plan ${slot} was not described`);
  }
}

// What would be a wrong argument of ours is a broken rule of the peer's.
function derivePeersPlan(blocks: PlannedBlocks): DerivedPlan {
  try {
    return derivePlan(blocks.lengths, blocks);
  } catch (error) {
    if (!isTcpxError(error, 'ERR_USAGE_ARGUMENT')) throw error;
    throw new TcpxError('ERR_WIRE_FRAME', `PLAN: ${error.message}`, { cause: error });
  }
}

function placesOf(blocks: PlannedBlocks) {
  const ends = new Float64Array(blocks.regions.length);
  const places: BlockPlace[] = [];
  for (const [index, regionIndex] of blocks.regionIndexes.entries()) {
    const offset = floatAt(blocks.offsets, index);
    const end = offset + floatAt(blocks.lengths, index);
    ends[regionIndex] = Math.max(floatAt(ends, regionIndex), end);
    places.push({ region: at(blocks.regions, regionIndex).slot, offset });
  }
  return { places, ends };
}

/**
 * What the peer keeps for us: which plan lies in which slot, the one used longest ago goes first.
 */
export class DescribedPlans {
  /** In the order of use. */
  readonly #slots = new Map<object, { readonly slot: number; readonly bytes: number }>();
  readonly #free: number[] = Array.from({ length: PLAN_SLOTS_MAX }, (_, slot) => slot);
  #bytes = 0;

  /** The slot that the peer has this plan in; undefined where it must be described. */
  find(plan: object): number | undefined {
    const known = this.#slots.get(plan);
    if (known === undefined) return undefined;
    this.#slots.delete(plan);
    this.#slots.set(plan, known);
    return known.slot;
  }

  /** A slot for a plan that is about to be described. */
  take(plan: object, bytes: number): number {
    if (bytes > KEPT_PLAN_BYTES_MAX) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `a plan of ${bytes} bytes, at most ${KEPT_PLAN_BYTES_MAX}: use fewer blocks`,
      );
    }
    while (this.#free.length === 0 || this.#bytes + bytes > KEPT_PLAN_BYTES_MAX) this.#dropOldest();
    const slot = this.#free.pop();
    if (slot === undefined) throw new Error('unreachable: a slot was freed');
    this.#slots.set(plan, { slot, bytes });
    this.#bytes += bytes;
    return slot;
  }

  /** Its request is gone. */
  forget(plan: object): void {
    const known = this.#slots.get(plan);
    if (known === undefined) return;
    this.#slots.delete(plan);
    this.#bytes -= known.bytes;
    this.#free.push(known.slot);
  }

  #dropOldest(): void {
    const [oldest] = this.#slots.keys();
    if (oldest === undefined) throw new Error('unreachable: something takes the room');
    this.forget(oldest);
  }
}
