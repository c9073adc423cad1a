// Applies a plan as a transaction: look at everything, save what is there, write, read back. Any
// failure puts all lines back in reverse order. Knows files only through the store and the journal
// only through `save`, so that tests can break either at any point.

import { parseCpuList } from '../../base/cpu-set.js';
import { type AffinityStore, errnoOf, explainErrno } from './affinity-store.js';
import { isSameSet } from './cpu-choice.js';
import {
  IRQ_JOURNAL_SCHEMA,
  type IrqJournal,
  type JournalEntry,
  type JournalState,
} from './journal.js';
import type { IrqPlan, PlanLine } from './plan.js';
import { readXps, restoreXps, writeXps, type XpsEntry, type XpsStore } from './xps-store.js';

export interface LineProblem {
  readonly irq: number;
  readonly nic: string;
  readonly queue: string;
  readonly errno: string;
  readonly text: string;
}

export interface ApplyReport {
  /** `refused`: nothing was written. */
  readonly outcome: 'applied' | 'refused' | 'restored' | 'restore-failed';
  readonly entries: readonly JournalEntry[];
  /** Lines left out (with skipRefused) or in the way. */
  readonly refusals: readonly LineProblem[];
  /** The write that broke the transaction. */
  readonly failure: LineProblem | undefined;
  /** Lines that could not be put back. */
  readonly unrestored: readonly LineProblem[];
  /** Send queues whose masks were written. */
  readonly xps: readonly XpsEntry[];
  /** What went wrong with them; the whole apply was undone then. */
  readonly xpsProblems: readonly string[];
}

export interface ApplyOptions {
  readonly id: string;
  readonly bootId: string | undefined;
  /** Leave out interrupts that the kernel does not let move, instead of refusing the plan. */
  readonly skipRefused: boolean;
  readonly xps: XpsStore;
  save(journal: IrqJournal): void;
}

export function applyPlan(plan: IrqPlan, store: AffinityStore, options: ApplyOptions): ApplyReport {
  const { entries: seen, problems } = readBefore(plan.lines, store);
  if (problems.length > 0 && !(options.skipRefused && problems.every(isImmovable))) {
    return report('refused', seen, { refusals: problems });
  }
  const xps = readXps(plan.xps ?? [], options.xps);
  if (xps.problems.length > 0) return report('refused', seen, { xpsProblems: xps.problems });
  const record = (state: JournalState, entries: readonly JournalEntry[]) =>
    options.save(journalOf(plan, options, state, entries, xps.entries));
  record('applying', seen);
  const { movable, refusals } = probeLines(seen, store);
  if (refusals.length > 0 && !(options.skipRefused && refusals.every(isImmovable))) {
    record('restored', seen);
    return report('refused', seen, { refusals: [...problems, ...refusals] });
  }
  const { written, failure } = writeLines(movable, store);
  const queues =
    failure === undefined ? writeXps(xps.entries, options.xps) : { entries: [], problems: [] };
  if (failure === undefined && queues.problems.length === 0) {
    recordOrRestore(
      () => record('applied', written),
      movable,
      store,
      () => {
        restoreXps(queues.entries, options.xps);
      },
    );
    const left = [...problems, ...refusals];
    return report('applied', written, { refusals: left, xps: queues.entries });
  }
  const unrestored = restoreLines(movable, store);
  const outcome = unrestored.length === 0 ? 'restored' : 'restore-failed';
  record(outcome, movable);
  return report(outcome, movable, {
    refusals,
    failure,
    unrestored,
    xpsProblems: queues.problems,
  });
}

// An apply that cannot be recorded cannot be undone later: it is undone now.
function recordOrRestore(
  record: () => void,
  entries: readonly JournalEntry[],
  store: AffinityStore,
  restoreQueues: () => void,
): void {
  try {
    record();
  } catch (error) {
    restoreQueues();
    restoreLines(entries, store);
    throw error;
  }
}

function report(
  outcome: ApplyReport['outcome'],
  entries: readonly JournalEntry[],
  rest: Partial<ApplyReport>,
): ApplyReport {
  const nothing = { refusals: [], failure: undefined, unrestored: [], xps: [], xpsProblems: [] };
  return { ...nothing, ...rest, outcome, entries };
}

function journalOf(
  plan: IrqPlan,
  { id, bootId }: ApplyOptions,
  state: JournalState,
  entries: readonly JournalEntry[],
  xps: readonly XpsEntry[],
): IrqJournal {
  const { hostname, policy } = plan;
  const known = {
    schema: IRQ_JOURNAL_SCHEMA,
    id,
    hostname,
    bootId,
    policy,
    state,
    entries,
  } as const;
  return xps.length === 0 ? known : { ...known, xps };
}

function readBefore(lines: readonly PlanLine[], store: AffinityStore) {
  const entries: JournalEntry[] = [];
  const problems: LineProblem[] = [];
  for (const line of lines) {
    try {
      const before = store.read(line.irq);
      store.probe(line.irq);
      entries.push(entryOf(line, before));
    } catch (error) {
      problems.push(problemOf(line, errnoOf(error)));
    }
  }
  return { entries, problems };
}

function entryOf(line: PlanLine, before: string): JournalEntry {
  const { irq, nic, pciAddress, vectorIndex, vectorName, queue, value } = line;
  const names = { irq, nic, pciAddress, vectorIndex, vectorName, queue };
  return { ...names, before, wanted: value, after: undefined };
}

// Writing the present value back changes nothing and tells whether the kernel lets this line move.
function probeLines(entries: readonly JournalEntry[], store: AffinityStore) {
  const movable: JournalEntry[] = [];
  const refusals: LineProblem[] = [];
  for (const entry of entries) {
    const problem = tryWrite(entry, entry.before, store);
    if (problem === undefined) movable.push(entry);
    else refusals.push(problem);
  }
  return { movable, refusals };
}

function writeLines(entries: readonly JournalEntry[], store: AffinityStore) {
  const written: JournalEntry[] = [];
  for (const entry of entries) {
    const failure = tryWrite(entry, entry.wanted, store);
    if (failure !== undefined) return { written, failure };
    written.push({ ...entry, after: entry.wanted });
  }
  return { written, failure: undefined };
}

/** Puts the earlier values back, last written first; returns the lines that did not come back. */
function restoreLines(
  entries: readonly JournalEntry[],
  store: AffinityStore,
): readonly LineProblem[] {
  const problems: LineProblem[] = [];
  for (const entry of [...entries].reverse()) {
    const problem = tryWrite(entry, entry.before, store);
    // An interrupt that is gone has nothing left to restore.
    if (problem !== undefined && problem.errno !== 'ENOENT') problems.push(problem);
  }
  return problems;
}

function tryWrite(
  entry: JournalEntry,
  list: string,
  store: AffinityStore,
): LineProblem | undefined {
  try {
    store.write(entry.irq, list);
    const now = store.read(entry.irq);
    if (isSameList(now, list)) return undefined;
    const text = `wrote ${list}, read back ${now}`;
    return { ...problemOf(entry, 'read-back'), text };
  } catch (error) {
    return problemOf(entry, errnoOf(error));
  }
}

function isSameList(left: string, right: string): boolean {
  return isSameSet(parseCpuList(left) ?? [], parseCpuList(right) ?? []);
}

function problemOf(line: Pick<PlanLine, 'irq' | 'nic' | 'queue'>, errno: string): LineProblem {
  const { irq, nic, queue } = line;
  return { irq, nic, queue, errno, text: explainErrno(errno) };
}

export function isImmovable(problem: LineProblem): boolean {
  return problem.errno === 'EIO' || problem.errno === 'EPERM';
}

export function isPermission(problem: LineProblem): boolean {
  return problem.errno === 'EACCES' || problem.errno === 'EROFS';
}
