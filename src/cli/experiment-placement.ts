// How an experiment places interrupts: by their affinity, as tcpx irq does it, or, on interfaces
// without any, by RPS; what it found is put back after each run.

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bindingOf, formatBindings } from '../base/core-bindings.js';
import { formatCpuMask } from '../base/cpu-set.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import { deriveConfig } from '../bench/derived-config.js';
import type { CpusByNic, ExperimentRecord } from '../experiment/record.js';
import { affinityFolder, errnoOf, explainErrno } from '../host/irq/affinity-store.js';
import { coreMapOf } from '../host/irq/core-map.js';
import { unionOf } from '../host/irq/cpu-choice.js';
import { openJournals, saveDocument } from '../host/irq/journal.js';
import { type IrqPlan, planOfNics } from '../host/irq/plan.js';
import { type RpsEntry, readRps, rpsProblem, writeRps } from '../host/irq/rps-store.js';
import { requirePlan, samePlan } from '../host/irq/saved-plan.js';
import type { HostModel } from '../host/read/model.js';
import type { Invocation } from './command.js';
import { type IrqHost, openIrqHost, planFor } from './irq-host.js';
import { bindByPlan, undoJournal } from './irq-transaction.js';

export interface ExperimentPlacement {
  readonly kind: 'irq' | 'rps' | 'none';
  readonly text: string;
  readonly txBindings: string;
  readonly rxBindings: string;
  readonly irqPlan: IrqPlan | undefined;
  readonly interruptCpus: CpusByNic;
  /** Why interrupts of these NICs cannot be placed here. */
  problemOf(nics: readonly string[]): string | undefined;
  /** Those of these NICs alone; returns what puts things back. */
  bind(nics: readonly string[]): () => void;
  /** Where everything is sent now; empty where that is not readable. */
  read(): string;
}

const RPS_FILE = 'rps-before.json';

/** `nics`: of all arms. */
export function openPlacement(
  invocation: Invocation,
  nics: readonly string[],
  folder: string,
): ExperimentPlacement {
  const host = openIrqHost(invocation);
  requireDefault(host);
  const placed = placedNics(host.model, nics);
  if (placed.length === 0) return rpsPlacement(host, nics, folder);
  // Whatever the host has beside: those of the arms are what is placed.
  const named = { 'session.nics': placed.join(',') };
  const config = deriveConfig(invocation.config, named, 'experiment');
  return irqPlacement(invocation, host, planFor({ ...invocation, config }, host.model));
}

type Begun = Pick<
  ExperimentRecord,
  'placement' | 'irqPlan' | 'interruptCpus' | 'txBindings' | 'rxBindings'
>;

/** As the record has it, whatever flags and host would give today; an error where it cannot. */
export function reopenPlacement(
  invocation: Invocation,
  record: Begun,
  nics: readonly string[],
  folder: string,
): ExperimentPlacement {
  const host = openIrqHost(invocation);
  requireDefault(host);
  if (record.placement.kind === 'irq') {
    if (record.irqPlan === undefined) {
      throw changed(folder, 'an earlier version began it, which did not record what it binds');
    }
    const plan = requirePlan(record.irqPlan, folder);
    return irqPlacement(invocation, host, sameAsBegun(plan, host, folder));
  }
  const now = rpsPlacement(host, nics, folder);
  const [before, after] = [record, now].map(({ interruptCpus, txBindings, rxBindings }) =>
    JSON.stringify([interruptCpus, txBindings, rxBindings]),
  );
  const isSame = now.kind === record.placement.kind && before === after;
  if (isSame && placedNics(host.model, nics).length === 0) return now;
  throw changed(folder, 'interfaces, queues or CPUs are not those that it was begun with');
}

function sameAsBegun(plan: IrqPlan, { model }: IrqHost, folder: string): IrqPlan {
  try {
    return samePlan(plan, model);
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    throw changed(folder, error.message);
  }
}

function changed(folder: string, reason: string): TcpxError {
  return new TcpxError(
    'ERR_USAGE_STATE',
    `--resume ${folder}: ${reason}; its arms would mean something else: begin a new experiment`,
  );
}

/** Those with vectors of their own. */
function placedNics({ nics: known }: HostModel, nics: readonly string[]): readonly string[] {
  const placed = known.filter(({ name, vectors }) => nics.includes(name) && vectors.length > 0);
  return placed.map(({ name }) => name);
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

function irqPlacement(invocation: Invocation, host: IrqHost, plan: IrqPlan): ExperimentPlacement {
  const store = affinityFolder(host.root);
  const nics = plan.allocations.map(({ nic }) => nic);
  const own = halvesOf(host.model, nics);
  return {
    kind: 'irq',
    text: `Interrupts of ${nics.join(', ')}, policy ${plan.policy}`,
    txBindings: plan.txBindings === '' ? own.tx : plan.txBindings,
    rxBindings: plan.rxBindings === '' ? own.rx : plan.rxBindings,
    irqPlan: plan,
    interruptCpus: plannedCpus(plan),
    problemOf: (named) => probeLines(planOfNics(plan, named), (irq) => store.probe(irq)),
    bind: (named) => bindPlan(invocation, planOfNics(plan, named)),
    read: () => readLines(plan, (irq) => store.read(irq)),
  };
}

function plannedCpus({ lines }: IrqPlan): CpusByNic {
  const cpus: Record<string, readonly number[]> = {};
  for (const line of lines) cpus[line.nic] = unionOf(cpus[line.nic] ?? [], line.cpus);
  return cpus;
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
  const queues = nics.map((nic) => ({ nic, entries: readRps(root, nic) }));
  const placed = queues.filter(({ entries }) => entries.length > 0);
  const entriesOf = (named: readonly string[]) =>
    placed.flatMap(({ nic, entries }) => (named.includes(nic) ? entries : []));
  const { tx, rx, rxCpus } = halvesOf(model, nics);
  const mask = formatCpuMask(rxCpus, coreMapOf(model).possibleCount) ?? '';
  return {
    kind: placed.length === 0 ? 'none' : 'rps',
    text: placeText(nics, placed.length > 0),
    txBindings: tx,
    rxBindings: rx,
    irqPlan: undefined,
    interruptCpus: Object.fromEntries(placed.map(({ nic }) => [nic, rxCpus])),
    problemOf: (named) => rpsProblem(entriesOf(named)),
    bind: (named) => bindRps(entriesOf(named), mask, folder),
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
