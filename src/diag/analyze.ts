// The verdict on a run: every rule asked, findings ordered by what putting them right is expected
// to gain, which is the estimate times how sure it is. Pure over the facts.

import { examine } from './doctor.js';
import type { Finding, RuleStatus } from './rule.js';
import type { RunFacts, RunRule } from './run-facts.js';
import { HOST_RULES, RUN_RULES } from './run-rules.js';
import { formatOwner, irqOwners } from './view/irq-owners.js';
import { headline } from './view/summary-text.js';

const ANALYSIS_SCHEMA = 'tcpx.diag-analysis/1';

export interface Analysis {
  readonly schema: typeof ANALYSIS_SCHEMA;
  readonly ok: boolean;
  readonly path: string;
  readonly hostname: string | undefined;
  readonly bandwidth: string;
  /** Whose interrupts are whose, a line per NIC. */
  readonly interrupts: readonly string[];
  readonly counts: Readonly<Record<RuleStatus, number>>;
  /** Those to act on, most to be gained first; then the others in the order of the rules. */
  readonly findings: readonly Finding[];
}

/** A finding of the doctor's rules has no estimate: it comes after those that have one. */
const GAIN_UNKNOWN = 5;
const CONFIDENCE_UNKNOWN = 0.5;

export function expectedGain({ gainPercent, confidence }: Finding): number {
  return (gainPercent ?? GAIN_UNKNOWN) * (confidence ?? CONFIDENCE_UNKNOWN);
}

export function isTrouble({ status }: Finding): boolean {
  return status === 'fail' || status === 'warn';
}

export function analyze(
  facts: RunFacts,
  rules: readonly RunRule[] = [...RUN_RULES, ...HOST_RULES],
): Analysis {
  const all = rules.map((rule) => examine(rule, facts));
  const found = all.filter(isTrouble).sort((a, b) => expectedGain(b) - expectedGain(a));
  const count = (status: RuleStatus) => all.filter((one) => one.status === status).length;
  return {
    schema: ANALYSIS_SCHEMA,
    ok: found.length === 0,
    path: facts.run.path,
    hostname: facts.run.hostname,
    bandwidth: headline(facts.run),
    interrupts: irqOwners(facts.run).map(formatOwner),
    counts: { pass: count('pass'), warn: count('warn'), fail: count('fail'), skip: count('skip') },
    findings: [...found, ...all.filter((one) => !isTrouble(one))],
  };
}
