// Which policy a plan has when none is named: the one that keeps jobs apart best, as long as it
// does not load the busiest CPU more than it is loaded now. Pure.

import { assert, at } from '../../base/assert.js';
import { busierThanNow, type PlanLoad, runLoad } from './load-placement.js';
import { countedWhen } from './mapping-table.js';
import { buildPlan, type IrqPlan, type PlanSource } from './plan.js';
import type { PolicyName, PolicyRequest } from './policy.js';

/** In order of preference: each after the first has more interrupt cores, less apart. */
const DEFAULT_POLICIES = ['split', 'physical', 'numa-local'] as const;

export interface PolicyChoice {
  readonly policy: PolicyName;
  readonly reason: string;
}

/** By the load of the run, else by that since boot, as far as either is known. */
export function defaultPlan(request: PolicyRequest, source: PlanSource): IrqPlan {
  const observed = request.observed ?? request.counted;
  const weighed = observed === undefined ? request : { ...request, observed };
  const plans = DEFAULT_POLICIES.map((name) => buildPlan(name, weighed, source));
  const { policy, reason } = choosePolicy(plans);
  const plan = plans.find((candidate) => candidate.policy === policy);
  assert(plan !== undefined, 'the chosen policy is one of those that were tried');
  return { ...plan, choice: reason };
}

type Candidate = Pick<IrqPlan, 'policy' | 'load'>;

interface Judged {
  readonly policy: PolicyName;
  readonly load: PlanLoad;
}

/** Plans of the same lines by different policies, the preferred one first. */
export function choosePolicy(candidates: readonly Candidate[]): PolicyChoice {
  const [first] = candidates;
  assert(first !== undefined, 'there is a policy to choose');
  const judged = candidates.flatMap(({ policy, load }) => (load ? [{ policy, load }] : []));
  if (judged.length < candidates.length) {
    const reason = 'too few interrupts are counted to judge by; --from BUNDLE has those of a run';
    return { policy: first.policy, reason };
  }
  const index = judged.findIndex(({ load }) => busierThanNow(load) === undefined);
  const chosen = at(judged, index === -1 ? leastLoaded(judged) : index);
  const passedOver =
    index === -1 ? judged.filter((plan) => plan !== chosen) : judged.slice(0, index);
  const texts = [chosen, ...passedOver].map(({ policy, load }) => `${policy} ${busiestText(load)}`);
  const when = countedWhen(runLoad(chosen.load));
  return { policy: chosen.policy, reason: `busiest CPU (${when}): ${texts.join('; ')}` };
}

function leastLoaded(plans: readonly Judged[]): number {
  const busiest = plans.map(({ load }) => load.busiestTotalPlanned);
  return busiest.indexOf(Math.min(...busiest));
}

function busiestText(load: PlanLoad): string {
  const { planned, now } = busierThanNow(load) ?? {
    planned: load.busiestPlanned,
    now: load.busiestNow,
  };
  return `${planned} interrupts instead of ${now}`;
}
