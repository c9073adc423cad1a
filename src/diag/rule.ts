// A rule of the doctor: what is asked, why it matters, how to put it right and the command that
// proves it, with the function that decides, in one place. Rules are pure over the facts.

import type { DoctorFacts } from './facts.js';

export type RuleStatus = 'pass' | 'warn' | 'fail' | 'skip';

/** `run` rules look at how a run is set up, `system` rules at the machine below it. */
export type RuleArea = 'reference' | 'run' | 'system';

export interface Verdict {
  readonly status: RuleStatus;
  /** What was seen, one fact per line. */
  readonly evidence: readonly string[];
  /** Where this case is surer, or worth more, than the rule says. */
  readonly confidence?: number;
  readonly gainPercent?: number;
}

/** Nothing runs, or nothing ends, until it is put right: ahead of whatever only slows. */
export const STOPS_THE_RUN = 1000;

export interface Rule<Facts extends DoctorFacts = DoctorFacts> {
  readonly id: string;
  readonly area: RuleArea;
  readonly title: string;
  readonly why: string;
  readonly remedy: string;
  /** A command that shows whether the remedy worked. */
  readonly proof: string;
  /** It judges variables of the run: not asked where those are not known. */
  readonly readsEnvironment?: boolean;
  /** How sure a finding is, from 0 to 1: some have other causes that look the same. */
  readonly confidence?: number;
  /** What a remedy may add to the bandwidth, in percent of what it is; an estimate. */
  readonly gainPercent?: number;
  /** What to run to know whether it is the cause. */
  readonly experiment?: string;
  check(facts: Facts): Verdict;
}

export interface Finding extends Omit<Rule, 'check' | 'readsEnvironment'>, Verdict {}

export function pass(...evidence: readonly string[]): Verdict {
  return { status: 'pass', evidence };
}

export function warn(...evidence: readonly string[]): Verdict {
  return { status: 'warn', evidence };
}

export function fail(...evidence: readonly string[]): Verdict {
  return { status: 'fail', evidence };
}

/** Not asked: the reason says what was missing or why it does not apply. */
export function skip(...evidence: readonly string[]): Verdict {
  return { status: 'skip', evidence };
}

/** Worst first. What is not known about one part keeps the whole from passing. */
export const STATUS_ORDER: readonly RuleStatus[] = ['fail', 'warn', 'skip', 'pass'];

/** The worst of several parts, with what is not known; a part without evidence does not count. */
export function worst(parts: readonly Verdict[], whenNone: Verdict): Verdict {
  const seen = parts.filter((part) => part.evidence.length > 0);
  const status = STATUS_ORDER.find((candidate) => seen.some((part) => part.status === candidate));
  if (status === undefined) return whenNone;
  const shown = STATUS_ORDER.filter((other) => other === status || other === 'skip');
  const evidence = shown.flatMap((other) => seen.filter((part) => part.status === other));
  return { status, evidence: evidence.flatMap((part) => part.evidence) };
}
