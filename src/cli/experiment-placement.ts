// How an experiment places interrupts: by their affinity, as tcpx irq does it, or, on interfaces
// without any, by RPS; what it found is put back after each run.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bindingOf, formatBindings } from '../base/core-bindings.js';
import { formatCpuMask } from '../base/cpu-set.js';
import { TcpxError } from '../base/errors.js';
import { affinityFolder, errnoOf, explainErrno } from '../host/irq/affinity-store.js';
import { coreMapOf } from '../host/irq/core-map.js';
import { openJournals, saveDocument } from '../host/irq/journal.js';
import type { IrqPlan } from '../host/irq/plan.js';
import { type RpsEntry, readRps, rpsProblem, writeRps } from '../host/irq/rps-store.js';
import type { HostModel } from '../host/read/model.js';
import type { Invocation } from './command.js';
import { type IrqHost, openIrqHost, planFor } from './irq-host.js';
import { bindByPlan, undoJournal } from './irq-transaction.js';

export interface ExperimentPlacement {
  readonly kind: 'irq' | 'rps' | 'none';
  readonly text: string;
  readonly txBindings: string;
  readonly rxBindings: string;
  /** Why interrupts cannot be placed here. */
  readonly problem: string | undefined;
  /** Returns what puts things back. */
  bind(): () => void;
  /** Where everything is sent now; empty where that is not readable. */
  read(): string;
}

const RPS_FILE = 'rps-before.json';

export function openPlacement(
  invocation: Invocation,
  nics: readonly string[],
  folder: string,
): ExperimentPlacement {
  const host = openIrqHost(invocation);
  requireDefault(host);
  const hasVectors = host.model.nics.some(
    ({ name, vectors }) => nics.includes(name) && vectors.length > 0,
  );
  return hasVectors ? irqPlacement(invocation, host) : rpsPlacement(host, nics, folder);
}

/** Otherwise the arm that is called default would not be. */
function requireDefault({ stateFolder, bootId }: IrqHost): void {
  const [open] = openJournals(stateFolder, bootId);
  if (open === undefined) return;
  throw new TcpxError(
    'ERR_USAGE_STATE',
    `experiment: interrupts are bound by plan ${open.policy} (${open.id}), so that no arm would ` +
      'have the default; tcpx irq rollback --all puts them back',
  );
}

function irqPlacement(invocation: Invocation, host: IrqHost): ExperimentPlacement {
  const plan = planFor(invocation, host.model);
  const store = affinityFolder(host.root);
  const nics = plan.allocations.map(({ nic }) => nic);
  const own = halvesOf(host.model, nics);
  return {
    kind: 'irq',
    text: `Interrupts of ${nics.join(', ')}, policy ${plan.policy}`,
    txBindings: plan.txBindings === '' ? own.tx : plan.txBindings,
    rxBindings: plan.rxBindings === '' ? own.rx : plan.rxBindings,
    problem: probeLines(plan, (irq) => store.probe(irq)),
    bind: () => bindPlan(invocation, plan),
    read: () => readLines(plan, (irq) => store.read(irq)),
  };
}

function probeLines(plan: IrqPlan, probe: (irq: number) => void): string | undefined {
  if (plan.lines.length === 0) return 'the plan has no line';
  for (const { irq, path } of plan.lines) {
    try {
      probe(irq);
    } catch (error) {
      return `${path}: ${errnoOf(error)}, ${explainErrno(errnoOf(error))}`;
    }
  }
  return undefined;
}

function readLines(plan: IrqPlan, read: (irq: number) => string): string {
  try {
    return plan.lines.map(({ irq }) => `${irq}: ${read(irq)}`).join(', ');
  } catch {
    return '';
  }
}

/** The experiment measures the state before by itself: no recorded baseline is asked for. */
function bindPlan(invocation: Invocation, plan: IrqPlan): () => void {
  const own: Invocation = {
    ...invocation,
    has: (flag) => flag === 'no-baseline' || invocation.has(flag),
    text: (flag) => invocation.text(flag),
  };
  const { id, report } = bindByPlan(own, openIrqHost(invocation), plan, true);
  if (report.outcome !== 'applied') {
    throw new TcpxError('ERR_SYS_CALL', `experiment: bind interrupts: ${report.outcome}`);
  }
  return () => {
    const host = openIrqHost(invocation);
    const journal = openJournals(host.stateFolder, host.bootId).find((one) => one.id === id);
    if (journal === undefined || undoJournal(journal, host).state === 'rolled-back') return;
    throw new TcpxError(
      'ERR_SYS_CALL',
      'experiment: some interrupts are not as before; tcpx irq rollback --all',
    );
  };
}

function rpsPlacement(
  { model, root }: IrqHost,
  nics: readonly string[],
  folder: string,
): ExperimentPlacement {
  restoreLeft(folder);
  const entries = nics.flatMap((nic) => readRps(root, nic));
  const { tx, rx, rxCpus } = halvesOf(model, nics);
  const mask = formatCpuMask(rxCpus, coreMapOf(model).possibleCount) ?? '';
  const problem = rpsProblem(entries);
  return {
    kind: entries.length === 0 ? 'none' : 'rps',
    text: placeText(nics, entries.length > 0),
    txBindings: tx,
    rxBindings: rx,
    problem,
    bind: () => bindRps(entries, mask, folder),
    read: () => {
      const now = nics.flatMap((nic) => readRps(root, nic));
      return now.map((entry) => entry.mask).join(' ');
    },
  };
}

function placeText(nics: readonly string[], hasQueues: boolean): string {
  const names = nics.join(', ');
  if (!hasQueues) return `${names}: neither interrupts nor receive queues of the kernel`;
  return (
    `${names}: no interrupts of its own, so that the place of received packets is chosen by RPS ` +
    '(rps_cpus), which emulates it'
  );
}

function bindRps(entries: readonly RpsEntry[], mask: string, folder: string): () => void {
  // On disk before the first write: whoever resumes after a crash puts it back.
  saveDocument(join(folder, RPS_FILE), folder, entries);
  const restore = () => restoreRps(entries, join(folder, RPS_FILE));
  try {
    for (const { path } of entries) writeRps({ path, mask });
  } catch (error) {
    restore();
    throw error;
  }
  return restore;
}

/** What a killed experiment left behind in this folder. */
function restoreLeft(folder: string): void {
  const path = join(folder, RPS_FILE);
  let left: unknown;
  try {
    left = JSON.parse(readFileSync(path, 'utf8')) as unknown; // checked: below
  } catch {
    return;
  }
  // Root writes what stands in it: a folder from elsewhere must not name other files.
  if (!Array.isArray(left) || !left.every(isRpsEntry)) {
    const what = `experiment: ${path} does not hold masks of receive queues`;
    throw new TcpxError('ERR_USAGE_STATE', what);
  }
  restoreRps(left, path);
}

const RPS_PATH = /^\/sys\/class\/net\/[^/]+\/queues\/rx-\d+\/rps_cpus$/;

function isRpsEntry(value: unknown): value is RpsEntry {
  const { path, mask } = (value ?? {}) as Partial<Record<'path' | 'mask', unknown>>;
  const isPath = typeof path === 'string' && RPS_PATH.test(path);
  return isPath && typeof mask === 'string' && /^[\da-f,]+$/i.test(mask);
}

/** All that can be: one queue that refuses must not keep others from their mask. */
function restoreRps(entries: readonly RpsEntry[], path: string): void {
  const refused = entries.flatMap((entry) => {
    try {
      writeRps(entry);
      return [];
    } catch (error) {
      // A queue that has gone took its mask with it.
      return errnoOf(error) === 'ENOENT' ? [] : [`${entry.path}: ${errnoOf(error)}`];
    }
  });
  if (refused.length > 0) {
    const what = `experiment: ${refused.join(', ')}; what was there is in ${path}`;
    throw new TcpxError('ERR_SYS_CALL', what);
  }
  rmSync(path, { force: true });
}

/** The first half of the CPUs sends, the second receives. */
function halvesOf(model: HostModel, nics: readonly string[]) {
  const { online } = coreMapOf(model);
  const half = Math.ceil(online.length / 2);
  const txCpus = online.slice(0, half);
  const rxCpus = online.length === 1 ? online : online.slice(half);
  const text = (cpus: readonly number[]) => formatBindings(nics.map((nic) => bindingOf(nic, cpus)));
  return { tx: text(txCpus), rx: text(rxCpus), rxCpus };
}
