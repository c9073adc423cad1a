// The plan that was made last, for transfers of the same shape one after the other: a plan is a
// pure function of its shape, and nobody writes into it.

import { type MatchedPlan, planDigest, planMatched } from '../../flow/matched-plan.js';

export interface PlanShape {
  readonly lengths: readonly number[];
  readonly chunkBytes: number;
  readonly weights: readonly number[];
  readonly gatherBytes: number;
}

export interface DigestedPlan {
  readonly plan: MatchedPlan;
  readonly digest: number;
}

/** More blocks than this are planned anew: comparing them costs as much. */
const LENGTHS_MAX = 64;

export class PlanMemo {
  #shape: PlanShape | undefined;
  #last: DigestedPlan | undefined;

  plan(shape: PlanShape): DigestedPlan {
    if (this.#last !== undefined && isSame(shape, this.#shape)) return this.#last;
    const { lengths, chunkBytes, weights, gatherBytes } = shape;
    const plan = planMatched(lengths, chunkBytes, weights, gatherBytes);
    const digested = { plan, digest: planDigest(plan) };
    if (lengths.length > LENGTHS_MAX) return digested;
    this.#shape = { ...shape, lengths: [...lengths], weights: [...weights] };
    this.#last = digested;
    return digested;
  }
}

function isSame(shape: PlanShape, other: PlanShape | undefined): boolean {
  return (
    other !== undefined &&
    shape.chunkBytes === other.chunkBytes &&
    shape.gatherBytes === other.gatherBytes &&
    isSameList(shape.weights, other.weights) &&
    isSameList(shape.lengths, other.lengths)
  );
}

function isSameList(list: readonly number[], other: readonly number[]): boolean {
  return list.length === other.length && list.every((value, index) => value === other[index]);
}
