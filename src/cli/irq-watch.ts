// `tcpx irq verify --watch`: reads the masks again and again, cheaply (one small file per line),
// and says which bindings were lost, when, and what changed on the host at the same time.

import { sleepMs } from '../base/clock.js';
import { formatCpuList } from '../base/cpu-set.js';
import { isSameSet } from '../host/irq/cpu-choice.js';
import type { IrqPlan } from '../host/irq/plan.js';
import type { HostFiles } from '../host/read/host-files.js';
import { readAffinity } from '../host/read/irqs.js';
import { openHost } from '../host/read/open-host.js';
import type { HostProbes } from '../host/read/probes.js';
import type { Invocation } from './command.js';
import { ExitCode } from './exit-code.js';
import { rootOf, secondsFlag } from './irq-host.js';
import { outputLost } from './output-loss.js';
import { printJsonLine, printText } from './print.js';

// irqbalance looks about every ten seconds: a lost binding shows within two readings.
const INTERVAL_SECONDS = 10;

export interface WatchEvent {
  readonly time: string;
  readonly event: 'lost' | 'back' | 'unreadable' | 'host changed';
  readonly irq?: number;
  readonly nic?: string;
  readonly queue?: string;
  readonly text: string;
}

export async function watchPlan(invocation: Invocation, plan: IrqPlan): Promise<ExitCode> {
  const { files, probes } = openHost(rootOf(invocation));
  const endMs =
    performance.now() + secondsFlag(invocation, 'seconds', Number.MAX_SAFE_INTEGER) * 1000;
  const intervalMs = secondsFlag(invocation, 'interval', INTERVAL_SECONDS) * 1000;
  const watch = new PlanWatch(plan, files, probes);
  let lossCount = 0;
  for (;;) {
    for (const event of watch.next(new Date().toISOString())) {
      if (event.event === 'lost') lossCount++;
      if (invocation.isJson) printJsonLine(event);
      else printText(`${event.time} ${event.event}: ${event.text}`);
    }
    if (performance.now() + intervalMs > endMs || outputLost.aborted) break;
    await sleepMs(intervalMs);
  }
  if (lossCount > 0) return ExitCode.AnswerIsNo;
  return watch.hasUnreadable ? ExitCode.Environment : ExitCode.Good;
}

type LineHold = 'back' | 'lost' | 'unreadable';

/** Remembers the last reading; each `next` returns what has changed since. */
class PlanWatch {
  private readonly plan: IrqPlan;
  private readonly files: HostFiles;
  private readonly probes: HostProbes;
  /** Lines that are not, or not known to be, as planned. */
  private readonly holds = new Map<number, LineHold>();
  private hostState: ReadonlyMap<string, string> | undefined;

  constructor(plan: IrqPlan, files: HostFiles, probes: HostProbes) {
    this.plan = plan;
    this.files = files;
    this.probes = probes;
  }

  next(time: string): readonly WatchEvent[] {
    return [...this.hostEvents(time), ...this.lineEvents(time)];
  }

  get hasUnreadable(): boolean {
    return [...this.holds.values()].includes('unreadable');
  }

  private lineEvents(time: string): WatchEvent[] {
    const events: WatchEvent[] = [];
    for (const { irq, nic, queue, cpus } of this.plan.lines) {
      const { requested } = readAffinity(this.files, irq);
      const hold = holdOf(requested, cpus);
      if (hold === (this.holds.get(irq) ?? 'back')) continue;
      this.holds.set(irq, hold);
      const now = requested === undefined ? 'unreadable' : formatCpuList(requested);
      const text = `IRQ ${irq} (${nic} ${queue}) planned ${formatCpuList(cpus)}, is ${now}`;
      events.push({ time, event: hold, irq, nic, queue, text });
    }
    return events;
  }

  // A device reset or CPU hotplug is what makes drivers forget: name it beside the loss.
  private hostEvents(time: string): WatchEvent[] {
    const state = this.readHostState();
    const old = this.hostState;
    this.hostState = state;
    if (old === undefined) return [];
    return [...state]
      .filter(([name, value]) => old.get(name) !== value)
      .map(([name, value]) => ({
        time,
        event: 'host changed',
        text: `${name} was ${old.get(name) ?? 'absent'}, is ${value}`,
      }));
  }

  private readHostState(): ReadonlyMap<string, string> {
    const state = new Map<string, string>();
    state.set('online CPUs', this.files.read('/sys/devices/system/cpu/online')?.trim() ?? '?');
    for (const nic of new Set(this.plan.lines.map((line) => line.nic))) {
      const statistics = this.probes.ethtool(nic)?.statistics ?? {};
      for (const name of ['reset_cnt', 'interface_up_cnt']) {
        const value = statistics[name];
        if (value !== undefined) state.set(`${nic} ${name}`, String(value));
      }
    }
    return state;
  }
}

function holdOf(requested: readonly number[] | undefined, planned: readonly number[]): LineHold {
  if (requested === undefined) return 'unreadable';
  return isSameSet(requested, planned) ? 'back' : 'lost';
}
