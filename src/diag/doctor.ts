// Runs the rules and orders the findings. Where a reference run proved the environment, findings
// about the system rank last: the fault is more likely in how this run is set up. Pure.

import type { DoctorFacts } from './facts.js';
import { type Finding, type Rule, type RuleStatus, skip } from './rule.js';
import { RULES } from './rules.js';

const DOCTOR_SCHEMA = 'tcpx.doctor/1';

export interface Diagnosis {
  readonly schema: typeof DOCTOR_SCHEMA;
  readonly ok: boolean;
  readonly hostname: string | undefined;
  readonly provider: DoctorFacts['provider'];
  /** The bundle that proves the environment; undefined when none does. */
  readonly provenBy: string | undefined;
  readonly counts: Readonly<Record<RuleStatus, number>>;
  readonly findings: readonly Finding[];
}

export function diagnose(facts: DoctorFacts, rules: readonly Rule[] = RULES): Diagnosis {
  const findings = rules.map((rule) => examine(rule, facts));
  const isProven = findings.some(({ area, status }) => area === 'reference' && status === 'pass');
  const ordered = isProven
    ? [...findings.filter(({ area }) => area !== 'system'), ...findings.filter(isSystem)]
    : findings;
  const count = (status: RuleStatus) => findings.filter((f) => f.status === status).length;
  return {
    schema: DOCTOR_SCHEMA,
    ok: count('fail') === 0,
    hostname: facts.host.hostname,
    provider: facts.provider,
    provenBy: isProven ? facts.reference?.folder : undefined,
    counts: { pass: count('pass'), warn: count('warn'), fail: count('fail'), skip: count('skip') },
    findings: ordered,
  };
}

function isSystem({ area }: Finding): boolean {
  return area === 'system';
}

export function examine<Facts extends DoctorFacts>(rule: Rule<Facts>, facts: Facts): Finding {
  const { id, area, title, why, remedy, proof, confidence, gainPercent, experiment } = rule;
  const isAsked = rule.readsEnvironment !== true || facts.isEnvironmentKnown !== false;
  const verdict = isAsked ? rule.check(facts) : skip('the variables of the run are not known');
  const words = { id, area, title, why, remedy, proof };
  const known = {
    ...(confidence === undefined ? {} : { confidence }),
    ...(gainPercent === undefined ? {} : { gainPercent }),
    ...(experiment === undefined ? {} : { experiment }),
  };
  return { ...words, ...known, ...verdict };
}
