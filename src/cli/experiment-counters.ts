// What is counted around a run of an experiment beside its bundle: context switches, cache misses,
// accesses to memory of another node by the command, and what the kernel says about GPUs. null
// where unknown.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { withinMs } from '../base/clock.js';
import type { RunFigures } from '../experiment/record.js';
import { openHost } from '../host/read/open-host.js';

type Counted = Pick<
  RunFigures,
  'contextSwitches' | 'contextSwitchesOf' | 'cacheMisses' | 'remoteNumaAccesses'
>;

const EVENTS = ['context-switches', 'cache-misses', 'node-load-misses', 'node-store-misses'];
const STOP_MS = 3000;

/** Whether perf may count here; asked once. */
export function canCount(): boolean {
  const { status } = spawnSync('perf', ['stat', '-x', ';', '-e', 'context-switches', 'true'], {
    stdio: 'ignore',
    timeout: STOP_MS,
  });
  return status === 0;
}

export class RunCounters {
  private readonly path: string;
  private readonly hasPerf: boolean;
  private readonly switchesBefore = hostSwitches();
  private readonly gpuBefore = gpuLines();
  private child: ChildProcess | undefined;

  /** `path`: of a file that is written and removed. */
  constructor(path: string, hasPerf: boolean) {
    this.path = path;
    this.hasPerf = hasPerf;
  }

  start(pid: number): void {
    if (!this.hasPerf) return;
    const words = ['stat', '-x', ';', '-o', this.path, '-e', EVENTS.join(','), '-p', String(pid)];
    const child = spawn('perf', words, { stdio: 'ignore' });
    child.once('error', () => undefined);
    this.child = child;
  }

  async finish(): Promise<Counted> {
    const events = await this.finishPerf();
    const switches = hostSwitches();
    const own = events.get('context-switches');
    const before = this.switchesBefore;
    const hostGrown = switches === null || before === null ? null : switches - before;
    return {
      contextSwitches: own ?? hostGrown,
      contextSwitchesOf: own !== undefined ? 'command' : hostGrown === null ? null : 'host',
      cacheMisses: events.get('cache-misses') ?? null,
      remoteNumaAccesses: remoteAccesses(events),
    };
  }

  /** New lines of the kernel; undefined where there is no GPU or no log. */
  newGpuLines(): readonly string[] | undefined {
    const now = gpuLines();
    if (now === undefined || this.gpuBefore === undefined) return undefined;
    return now.slice(this.gpuBefore.length);
  }

  private async finishPerf(): Promise<ReadonlyMap<string, number>> {
    const { child } = this;
    if (child === undefined) return new Map();
    if (child.exitCode === null) {
      const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
      child.kill('SIGINT');
      await withinMs(ended, STOP_MS);
      child.kill('SIGKILL');
    }
    const text = readText(this.path);
    rmSync(this.path, { force: true });
    return parsePerfStat(text);
  }
}

/**
 * Loads and stores of the command that another node answered; null where the CPU does not count
 * both. Pages that the kernel allocates on another node are something else, and of the whole host.
 */
export function remoteAccesses(events: ReadonlyMap<string, number>): number | null {
  const loads = events.get('node-load-misses');
  const stores = events.get('node-store-misses');
  return loads === undefined || stores === undefined ? null : loads + stores;
}

/** Lines `count;unit;event;…`; an event that the CPU does not have has no number. */
export function parsePerfStat(text: string): ReadonlyMap<string, number> {
  const events = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [count = '', , event = ''] = line.split(';');
    const name = event.replace(/:\w+$/, '');
    if (/^\d+$/.test(count) && EVENTS.includes(name)) events.set(name, Number(count));
  }
  return events;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function hostSwitches(): number | null {
  const text = /^ctxt (\d+)$/m.exec(openHost().files.read('/proc/stat') ?? '')?.[1];
  return text === undefined ? null : Number(text);
}

function gpuLines(): readonly string[] | undefined {
  if (openHost().files.list('/proc/driver/nvidia').length === 0) return undefined;
  const { status, stdout } = spawnSync('dmesg', [], { encoding: 'utf8', timeout: STOP_MS });
  if (status !== 0) return undefined;
  return stdout.split('\n').filter((line) => /NVRM: Xid/.test(line));
}
