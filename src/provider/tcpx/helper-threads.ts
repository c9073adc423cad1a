// The plugin's helper threads, seen from inside its process: which they are, on which cores they
// may run, and whether those are the cores that the bindings name for the process's NICs.

import { readdirSync, readFileSync } from 'node:fs';
import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { parseCpuList } from '../../base/cpu-set.js';

/** A thread that the plugin has started. */
export interface HelperThread {
  /** Its number at the kernel. */
  readonly tid: number;
  /** Its name there. */
  readonly name: string;
  /** Cores that it may run on, as the kernel writes them: `8-21,112-125`. */
  readonly cpus: string;
}

/** Texts of NCCL_GPUDIRECTTCPX_TX_BINDINGS and _RX_BINDINGS; empty where they are not set. */
export interface BindingTexts {
  /** For threads that send. */
  readonly tx: string;
  /** For threads that receive. */
  readonly rx: string;
}

/** On which cores the helper threads of a plugin process run, and whether they should. */
export interface ThreadPlacement {
  /**
   * `bound`: every helper thread stays on cores of a binding. `differs`: one does not. `none`: no
   * bindings for these NICs. `unseen`: no helper thread yet.
   */
  readonly verdict: 'bound' | 'differs' | 'none' | 'unseen';
  /** Interfaces of the process. */
  readonly nics: readonly string[];
  /** The bindings that it was started with. */
  readonly bindings: BindingTexts;
  /** The threads that have been seen. */
  readonly threads: readonly HelperThread[];
  /** What differs; empty where nothing does. */
  readonly reason: string;
}

const TASKS = '/proc/self/task';

export function threadIds(): Set<number> {
  return new Set(readdirSync(TASKS).map(Number));
}

/** Threads that were not there before, without those that the CUDA driver makes. */
export function readHelperThreads(before: ReadonlySet<number>): HelperThread[] {
  const threads = [...threadIds()].filter((tid) => !before.has(tid)).map(readThread);
  return threads.filter((thread): thread is HelperThread => thread !== undefined);
}

function readThread(tid: number): HelperThread | undefined {
  try {
    const status = readFileSync(`${TASKS}/${tid}/status`, 'utf8');
    const name = /^Name:\s*(.*)$/m.exec(status)?.[1] ?? '';
    const cpus = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1];
    return cpus === undefined || /^cuda/.test(name) ? undefined : { tid, name, cpus };
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

/** Pure. Which direction a thread serves is not told: it must be on the cores of one of them. */
export function judgePlacement(
  threads: readonly HelperThread[],
  bindings: BindingTexts,
  nics: readonly string[],
): ThreadPlacement {
  const sets = [bindings.tx, bindings.rx].flatMap((text) => nics.map((nic) => coresOf(text, nic)));
  const bound = sets.filter((set) => set !== undefined);
  const found = { nics, bindings, threads, reason: '' };
  if (bound.length === 0) return { ...found, verdict: 'none' };
  if (threads.length === 0) return { ...found, verdict: 'unseen' };
  const isInside = ({ cpus }: HelperThread): boolean =>
    bound.some((set) => (parseCpuList(cpus) ?? [-1]).every((cpu) => set.has(cpu)));
  const outside = threads.filter((thread) => !isInside(thread));
  // A direction or NIC without a binding has threads of its own, which may be anywhere.
  const isExcused = bound.length < sets.length && outside.length < threads.length;
  if (outside.length === 0 || isExcused) return { ...found, verdict: 'bound' };
  const seen = outside.map(({ tid, cpus }) => `thread ${tid} may run on ${cpus}`).join(', ');
  return { ...found, verdict: 'differs', reason: `${seen}; bound are ${describe(bindings)}` };
}

function coresOf(text: string, nic: string): ReadonlySet<number> | undefined {
  const binding = parseBindings(text).bindings.find((one) => one.nic === nic);
  return binding === undefined ? undefined : new Set(bindingCpus(binding));
}

function describe({ tx, rx }: BindingTexts): string {
  return `TX ${tx || 'nothing'}, RX ${rx || 'nothing'}`;
}
