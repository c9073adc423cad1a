// Whether a run counts, from its bundle: it ended, it has a figure, no line of trouble, variables
// and interrupts as its arm says, and the cores that were bound did the work. Pure.

import { bindingCpus, parseBindings } from '../base/core-bindings.js';
import { formatCpuList } from '../base/cpu-set.js';
import { examine } from '../diag/doctor.js';
import type { RuleStatus } from '../diag/rule.js';
import { bandwidthGBps } from '../diag/run-difference.js';
import type { RunFacts } from '../diag/run-facts.js';
import { RUN_RULES } from '../diag/run-rules.js';
import { unionOf } from '../host/irq/cpu-choice.js';
import type { Arm } from './plan.js';
import type { CpusByNic, RunCheck } from './record.js';

export interface CheckedRun {
  readonly arm: Arm;
  readonly facts: RunFacts;
  readonly txBindings: string;
  readonly rxBindings: string;
  /** Of the NICs that this arm uses. */
  readonly interruptCpus: CpusByNic;
  /** Where interrupts, or what stands for them, were sent; empty: not readable. */
  readonly placement: { readonly before: string; readonly after: string };
  /** Lines of the kernel about GPUs that came during the run; undefined where not readable. */
  readonly gpuLines: readonly string[] | undefined;
}

/** Rules about a run that make it worthless where they do not pass. */
const RULE_NAMES: Readonly<Record<string, string>> = {
  'run.verified': 'payload verified',
  'run.gpu-errors': 'no GPU errors',
  'requests.pool': 'requests suffice',
  'run.stuck': 'nothing stood still',
  'devmem.still': 'device memory was used',
  'no-cmsg.same-host': 'no "rx no cmsg"',
  'no-cmsg.sockets': 'no "rx no cmsg"',
  'no-cmsg.nic': 'no "rx no cmsg"',
  'no-cmsg.steering': 'no "rx no cmsg"',
  'no-cmsg.kernel': 'no "rx no cmsg"',
  'no-cmsg.other': 'no "rx no cmsg"',
  'irq.moved': 'interrupts stayed',
};

/** Less of one core is what any idle host does. */
const ACTIVE_PERCENT = 5;
const BINDING_VARIABLE = /_(TX|RX)(_IRQ)?_BINDINGS$|_LANE_BINDINGS$|_WORKER_PIN_THREADS$/;

/** Whether an arm without variables must not have this one. */
export function isBindingVariable(name: string): boolean {
  return BINDING_VARIABLE.test(name);
}

export function checkRun(run: CheckedRun): readonly RunCheck[] {
  return [
    endCheck(run),
    figureCheck(run),
    ...ruleChecks(run),
    kernelCheck(run),
    placementCheck(run),
    variableCheck(run),
    coreCheck(run),
  ];
}

/** What is not known does not make a run worthless; a failed check does. */
export function isCounted(checks: readonly RunCheck[]): boolean {
  return checks.every(({ verdict }) => verdict !== 'fail');
}

function check(name: string, isGood: boolean | undefined, evidence: string): RunCheck {
  return { name, verdict: isGood === undefined ? 'unknown' : isGood ? 'pass' : 'fail', evidence };
}

function endCheck({ facts: { run } }: CheckedRun): RunCheck {
  const { status, isTimedOut, failure, signal } = run.end;
  if (isTimedOut) return check('ended in time', false, 'ended at the deadline');
  const text = failure ?? (signal === undefined ? `exit status ${status ?? '?'}` : signal);
  if (status === 0 || run.lastLine === '') return check('ended in time', status === 0, text);
  return check('ended in time', false, `${text}, its last line: ${run.lastLine}`);
}

function figureCheck({ facts: { run } }: CheckedRun): RunCheck {
  const rate = bandwidthGBps(run);
  const isKnown = rate !== undefined && rate > 0;
  const text = isKnown ? `${rate.toFixed(2)} GB/s` : 'its output has no bandwidth';
  return check('has a figure', isKnown, text);
}

const VERDICTS: Readonly<Record<RuleStatus, RunCheck['verdict']>> = {
  pass: 'pass',
  skip: 'unknown',
  warn: 'fail',
  fail: 'fail',
};

/** One check for each name: the worst of the rules behind it. */
function ruleChecks({ facts }: CheckedRun): readonly RunCheck[] {
  const checks = new Map<string, RunCheck>();
  for (const rule of RUN_RULES) {
    const name = RULE_NAMES[rule.id];
    if (name === undefined) continue;
    const { status, evidence } = examine(rule, facts);
    const one: RunCheck = { name, verdict: VERDICTS[status], evidence: evidence.join('; ') };
    const known = checks.get(name);
    if (known === undefined || (known.verdict !== 'fail' && one.verdict === 'fail')) {
      checks.set(name, one);
    }
  }
  return [...checks.values()];
}

function kernelCheck({ gpuLines }: CheckedRun): RunCheck {
  const name = 'no Xid in the kernel’s log';
  if (gpuLines === undefined) return check(name, undefined, 'no GPU, or the log is not readable');
  return check(name, gpuLines.length === 0, gpuLines.slice(0, 3).join('; '));
}

function placementCheck({ placement: { before, after } }: CheckedRun): RunCheck {
  if (before === '') return check('affinity stable', undefined, 'not readable');
  const isSame = before === after;
  return check('affinity stable', isSame, isSame ? before : `${before}, then ${after}`);
}

function variableCheck({ arm, facts }: CheckedRun): RunCheck {
  const name = 'variables as planned';
  const { environment, isEnvironmentKnown } = facts.run;
  if (!isEnvironmentKnown) return check(name, undefined, 'the bundle does not tell');
  const set = Object.keys(environment).filter(isBindingVariable);
  if (arm.variables === 'none') {
    return check(name, set.length === 0, set.length === 0 ? 'unset' : `set: ${set.join(', ')}`);
  }
  return check(name, set.length > 0, set.length > 0 ? set.join(', ') : 'none is set');
}

/** CPUs that the plan gives to threads. */
export function boundCpus(txBindings: string, rxBindings: string): readonly number[] {
  const texts = [txBindings, rxBindings];
  return unionOf(...texts.flatMap((text) => parseBindings(text).bindings.map(bindingCpus)));
}

/** Of an arm that binds both, threads and interrupts must both have been where they were bound. */
function coreCheck(run: CheckedRun): RunCheck {
  const checks = [
    ...(run.arm.variables === 'nccl' ? [threadCores(run)] : []),
    ...(run.arm.interrupts === 'matched' ? [interruptCores(run)] : []),
  ];
  const worst =
    checks.find(({ verdict }) => verdict === 'fail') ??
    checks.find(({ verdict }) => verdict === 'pass');
  return worst ?? checks[0] ?? check(CORES, undefined, 'nothing is bound');
}

const CORES = 'bound cores active';

function threadCores({ facts, txBindings, rxBindings }: CheckedRun): RunCheck {
  const cpus = boundCpus(txBindings, rxBindings);
  const most = busiestOf(facts, cpus);
  if (most === undefined) return check(CORES, undefined, 'CPU use of threads was not sampled');
  const text = `threads on CPUs ${formatCpuList(cpus)}: the busiest ${most.toFixed(0)} %`;
  return check(CORES, most >= ACTIVE_PERCENT, text);
}

function busiestOf({ run }: RunFacts, cpus: readonly number[]): number | undefined {
  const busy = cpus.flatMap((cpu) => run.busyPercent.get(cpu) ?? []);
  return busy.length === 0 ? undefined : Math.max(...busy);
}

/** Interrupts are counted by CPU; packets that RPS moves are not: a quiet CPU tells nothing. */
function interruptCores({ facts, interruptCpus }: CheckedRun): RunCheck {
  const cpus = unionOf(...Object.values(interruptCpus));
  const { planned, away } = interruptPlaces(facts, interruptCpus);
  const seen = planned + away;
  const place = `CPUs ${formatCpuList(cpus)}`;
  if (seen > 0) {
    return check(CORES, planned > 0, `${planned} of ${seen} interrupts came on ${place}`);
  }
  const most = busiestOf(facts, cpus);
  if (most === undefined) return check(CORES, undefined, `${place}: their use was not sampled`);
  const isQuiet = most < ACTIVE_PERCENT;
  const isTold = !isQuiet || hasCounts(facts, interruptCpus);
  const text = `no interrupt was counted; ${place}: the busiest ${most.toFixed(0)} %`;
  return check(CORES, isTold ? !isQuiet : undefined, text);
}

function hasCounts({ run }: RunFacts, interruptCpus: CpusByNic): boolean {
  const placed = run.nics.filter(({ nic }) => interruptCpus[nic] !== undefined);
  return placed.some(({ parts }) => parts.some(({ interrupts }) => interrupts !== undefined));
}

/** How many interrupts of these NICs came on the CPUs that were planned for them, and elsewhere. */
export function interruptPlaces({ run }: RunFacts, interruptCpus: CpusByNic) {
  let planned = 0;
  let away = 0;
  for (const { nic, irqCpus } of run.nics) {
    const cpus = interruptCpus[nic];
    if (cpus === undefined) continue;
    for (const { cpu, count } of irqCpus) {
      if (cpus.includes(cpu)) planned += count;
      else away += count;
    }
  }
  return { planned, away };
}
