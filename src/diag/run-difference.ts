// Two runs side by side, such as NCCL's and ours: bandwidth, CPUs, interrupts, threads, variables.
// Pure.

import { formatCpuList } from '../base/cpu-set.js';
import { diffEnvironments, type EnvironmentDifference } from '../host/environment/difference.js';
import { bestBus } from './parse/nccl-tests-table.js';
import { rateUnit } from './parse/perf-log.js';
import type { NicRun, RunView } from './view/run-view.js';
import { channelsByNic } from './view/summary-text.js';

export interface RunDifference {
  readonly schema: 'tcpx.diag-diff/1';
  readonly a: string;
  readonly b: string;
  readonly rows: readonly DifferenceRow[];
  readonly variables: readonly EnvironmentDifference[];
}

export interface DifferenceRow {
  readonly what: string;
  readonly a: string;
  readonly b: string;
  /** b against a, where both are numbers. */
  readonly percent: number | undefined;
}

export function diffRuns(a: RunView, b: RunView): RunDifference {
  return {
    schema: 'tcpx.diag-diff/1',
    a: a.path,
    b: b.path,
    rows: [
      numberRow('bandwidth GB/s', bandwidthGBps(a), bandwidthGBps(b), 2),
      numberRow('seconds', a.seconds, b.seconds, 1),
      numberRow('CPUs busy, sum', busySum(a), busySum(b), 2),
      numberRow('CPUs over 50 %', busyCount(a), busyCount(b), 0),
      textRow('busiest CPUs', busiest(a), busiest(b)),
      numberRow('segments sent again', a.end.tcp['RetransSegs'], b.end.tcp['RetransSegs'], 0),
      numberRow('softnet drops', a.end.softnet['dropped'], b.end.softnet['dropped'], 0),
      textRow('channels by NIC', channels(a), channels(b)),
      ...nicRows(a, b),
      textRow('thread CPUs', threadCpus(a), threadCpus(b)),
      textRow('threads may run on', allowed(a), allowed(b)),
    ],
    variables: diffEnvironments(a.environment, b.environment),
  };
}

/** In 10^9 bytes per second, whatever a program printed. */
export function bandwidthGBps({ tests, bench, perf }: RunView): number | undefined {
  const best = bestBus(tests)?.busGBps ?? bench?.busGBps;
  const last = perf.averages.at(-1);
  if (best !== undefined || last === undefined) return best;
  const unit = rateUnit(perf.totalBytes ?? Number.NaN, last.ms, last.rate);
  if (unit === undefined) return undefined;
  return unit === 'GiB/s' ? (last.rate * 1024 ** 3) / 1e9 : last.rate;
}

function numberRow(
  what: string,
  a: number | undefined,
  b: number | undefined,
  digits: number,
): DifferenceRow {
  const text = (value: number | undefined) => (value === undefined ? 'N/A' : value.toFixed(digits));
  const isKnown = a !== undefined && b !== undefined && a > 0;
  return { what, a: text(a), b: text(b), percent: isKnown ? (b / a - 1) * 100 : undefined };
}

function textRow(what: string, a: string, b: string): DifferenceRow {
  return { what, a: a === '' ? 'N/A' : a, b: b === '' ? 'N/A' : b, percent: undefined };
}

function busySum({ busyPercent }: RunView): number | undefined {
  if (busyPercent.size === 0) return undefined;
  return [...busyPercent.values()].reduce((sum, percent) => sum + percent, 0) / 100;
}

function busyCount({ busyPercent }: RunView): number | undefined {
  if (busyPercent.size === 0) return undefined;
  return [...busyPercent.values()].filter((percent) => percent > 50).length;
}

function busiest({ busyPercent }: RunView): string {
  const most = [...busyPercent].sort(([, a], [, b]) => b - a).slice(0, 4);
  return most.map(([cpu, percent]) => `${cpu}: ${percent.toFixed(0)} %`).join(', ');
}

function channels(view: RunView): string {
  return [...channelsByNic(view)].map(([nic, all]) => `${nic}: ${formatCpuList(all)}`).join(', ');
}

function nicRows(a: RunView, b: RunView): readonly DifferenceRow[] {
  const names = new Set([...a.nics, ...b.nics].map(({ nic }) => nic));
  return [...names].flatMap((name) => {
    const of = (view: RunView) => view.nics.find(({ nic }) => nic === name);
    const [one, other] = [of(a), of(b)];
    return [
      numberRow(`${name} rx bytes`, one?.rx.bytes, other?.rx.bytes, 0),
      numberRow(`${name} devmem packets`, one?.rx.devmemPackets, other?.rx.devmemPackets, 0),
      numberRow(`${name} interrupts`, irqCount(one), irqCount(other), 0),
      textRow(`${name} interrupts on`, irqCpus(one), irqCpus(other)),
    ];
  });
}

function irqCount(nic: NicRun | undefined): number | undefined {
  return nic?.irqCpus.reduce((sum, { count }) => sum + count, 0);
}

function irqCpus(nic: NicRun | undefined): string {
  return formatCpuList((nic?.irqCpus ?? []).map(({ cpu }) => cpu).sort((a, b) => a - b));
}

/** CPUs on which threads of the command, or those that its log names, were seen. */
function threadCpus({ end, nccl }: RunView): string {
  const seen = end.threads.flatMap(({ cpus }) => Object.keys(cpus).map(Number));
  const logged = nccl.threads.map(({ cpu }) => cpu);
  const whole = [...seen, ...logged].filter((cpu) => Number.isInteger(cpu) && cpu >= 0);
  return formatCpuList([...new Set(whole)].sort((a, b) => a - b));
}

function allowed({ end }: RunView): string {
  return [...new Set(end.threads.map((thread) => thread.allowed))].slice(0, 4).join('; ');
}
