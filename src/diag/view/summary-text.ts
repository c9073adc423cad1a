// SUMMARY.txt and nccl_metrics_summary.txt of a bundle, from the run as its files show it. Pure.

import { formatCpuList } from '../../base/cpu-set.js';
import { formatBytes } from '../../base/units.js';
import type { WrittenFile } from '../bundle/bundle-writer.js';
import { alignColumns } from '../bundle/host-texts.js';
import type { BenchFacts } from '../parse/bench-document.js';
import { bestBus } from '../parse/nccl-tests-table.js';
import { rateUnit } from '../parse/perf-log.js';
import { busiestCpus, cpuRoles, type NicRun, type RunView } from './run-view.js';

const CPUS_SHOWN = 8;
const LINES_SHOWN = 10;

export function summaryText(view: RunView, files: readonly WrittenFile[]): string {
  const { begin } = view;
  const facts: readonly (readonly string[])[] = [
    ['run', begin.label ?? view.path],
    ['host', view.hostname ?? 'not named'],
    ...(begin.isEmulated ? [['evidence', 'emulated: NICs of the plugin emulator']] : []),
    ['command', begin.command.join(' ')],
    ['started', begin.started ?? 'unknown'],
    ['took', view.seconds === undefined ? 'unknown' : `${view.seconds.toFixed(1)} s`],
    ['ended', endText(view)],
    ['bandwidth', headline(view)],
    ...socketFacts(view).map((line) => ['data sockets', line]),
    ['own cost', ownCost(view)],
  ];
  return [
    alignColumns(facts),
    section('NICs', nicTable(view)),
    section('Busiest CPUs', cpuTable(view)),
    section('Interrupts of the run', irqTable(view)),
    section('Troubles', troubles(view)),
    section('Files', alignColumns(files.map(({ name, bytes }) => [name, String(bytes)]))),
  ].join('\n');
}

function section(title: string, body: string): string {
  return `${title}\n${'-'.repeat(title.length)}\n${body === '' ? 'none\n' : body}`;
}

export function endText({ end }: Pick<RunView, 'end'>): string {
  const late = end.isTimedOut ? ' at the deadline' : '';
  if (end.failure !== undefined) return `never started: ${end.failure}`;
  if (end.signal !== undefined) return `by ${end.signal}${late}`;
  return end.status === undefined ? 'unknown' : `with status ${end.status}${late}`;
}

/** The one figure that people ask for, with its unit as it is, not as it was printed. */
export function headline({ tests, perf, bench }: RunView): string {
  const best = bestBus(tests);
  if (best !== undefined) {
    const average = tests.averageBusGBps;
    return (
      `${best.busGBps} GB/s bus bandwidth at ${formatBytes(best.sizeBytes)}` +
      (average === undefined ? '' : `, ${average} GB/s on average over all sizes`)
    );
  }
  if (bench !== undefined) return `${bench.busGBps.toFixed(3)} GB/s (${bench.op}, ${bench.path})`;
  const last = perf.averages.at(-1);
  if (last === undefined) return 'no line of the log tells';
  const unit = rateUnit(perf.totalBytes ?? Number.NaN, last.ms, last.rate);
  return `${last.rate} ${unit ?? 'GB/s as printed, unit not known'} (${last.ms} ms)`;
}

/** Ethernet, IPv4 and TCP with timestamps; loopback has the same. */
const HEADER_BYTES = 14 + 20 + 32;
/** Less is what others said over an interface that the run did not use. */
const CARRIED_SHARE_MIN = 0.01;
const OTHERS_PERCENT = 1;

/** What TCP_INFO counted on the data sockets, and the same by the interface less headers. */
export function socketFacts({ bench }: Pick<RunView, 'bench'>): readonly string[] {
  const acked = bench?.channels.filter(({ bytesAcked }) => bytesAcked >= 0) ?? [];
  if (bench === undefined || acked.length === 0) return [];
  const total = acked.reduce((sum, { bytesAcked }) => sum + bytesAcked, 0);
  const payload = bench.sizeBytes * bench.iterations;
  return [
    `${total} bytes acknowledged on ${acked.length} (TCP_INFO), ${payload} of them payload`,
    ...interfaceFacts(bench.nics, total),
  ];
}

/** All interfaces that carried the run, against what its sockets sent. */
function interfaceFacts(nics: BenchFacts['nics'], total: number): readonly string[] {
  const carried = Object.entries(nics)
    .map(([nic, counters]) => {
      const headers = (counters['tx_packets'] ?? 0) * HEADER_BYTES;
      return { nic, bytes: (counters['tx_bytes'] ?? 0) - headers };
    })
    .filter(({ bytes }) => bytes >= total * CARRIED_SHARE_MIN);
  if (carried.length === 0) return [];
  const sum = carried.reduce((all, { bytes }) => all + bytes, 0);
  const percent = (sum / total - 1) * 100;
  const others = percent > OTHERS_PERCENT ? ', others sent too' : '';
  const each = carried.map(({ nic, bytes }) => `${nic} sent ${bytes}`).join(', ');
  const all = carried.length === 1 ? '' : `, ${sum} in all,`;
  return [`${each}${all} bytes less headers (${percent.toFixed(2)} %${others})`];
}

function ownCost({ end }: RunView): string {
  if (end.overheadPercent === undefined) return 'not measured';
  if ((end.seconds ?? 0) < 1) return 'the run was too short to tell';
  return `${end.overheadPercent.toFixed(2)} % of one core, ${end.samples ?? '?'} samples`;
}

/** Device-memory packets with a verdict: growth where data came is the only proof. */
export function devmemVerdict({ rx }: NicRun): string {
  if (rx.devmemPackets === undefined) return 'not counted';
  if (rx.devmemPackets > 0) return `${rx.devmemPackets} packets: pass`;
  const arrived = rx.bytes ?? 0;
  return arrived > DATA_BYTES_MIN ? `0 though ${formatBytes(arrived)} came: FAIL` : '0, no data';
}

/** Less than this is name service and keep-alives. */
export const DATA_BYTES_MIN = 16 * 1024 * 1024;

function nicTable({ nics }: RunView): string {
  if (nics.length === 0) return '';
  const text = (value: number | undefined) => (value === undefined ? 'N/A' : String(value));
  const rows = nics.map((nic) => [
    ...[nic.nic, text(nic.node), text(nic.rx.bytes), text(nic.tx.bytes)],
    ...[text(nic.rx.drops), devmemVerdict(nic)],
  ]);
  return alignColumns([['NIC', 'node', 'rx bytes', 'tx bytes', 'drops', 'device memory'], ...rows]);
}

function cpuTable(view: RunView): string {
  const rows = busiestCpus(view, CPUS_SHOWN).map(([cpu, percent]) => [
    ...[String(cpu), `${percent.toFixed(1)} %`, cpuRoles(view, cpu).join(', ') || 'in no set'],
  ]);
  return rows.length === 0 ? '' : alignColumns([['CPU', 'busy', 'in'], ...rows]);
}

function irqTable({ nics }: RunView): string {
  const rows = nics
    .filter(({ irqCpus }) => irqCpus.length > 0)
    .map(({ nic, irqCpus }) => [
      nic,
      String(irqCpus.reduce((sum, { count }) => sum + count, 0)),
      formatCpuList(irqCpus.map(({ cpu }) => cpu).sort((a, b) => a - b)),
      irqCpus
        .slice(0, 3)
        .map(({ cpu, count }) => `${cpu}: ${count}`)
        .join(', '),
    ]);
  return rows.length === 0 ? '' : alignColumns([['NIC', 'interrupts', 'CPUs', 'most'], ...rows]);
}

function troubles(view: RunView): string {
  const { end, movedIrqs, resetIrqs, nccl, perf } = view;
  const grown = (name: string, values: Readonly<Record<string, number>>, what: string) =>
    (values[name] ?? 0) > 0 ? [`${values[name] ?? 0} ${what}`] : [];
  const lines = [
    ...(end.problem === undefined ? [] : [`collection stopped: ${end.problem}`]),
    ...grown('dropped', end.softnet, 'packets dropped by softnet'),
    ...grown('timeSqueeze', end.softnet, 'times softnet ran out of time'),
    ...grown('RetransSegs', end.tcp, 'segments sent again'),
    ...movedIrqs.slice(0, LINES_SHOWN).map(({ irq, nic, before, after }) => {
      return `IRQ ${irq} (${nic}) moved from ${formatCpuList(before)} to ${formatCpuList(after)}`;
    }),
    ...(resetIrqs.length === 0 ? [] : [`${resetIrqs.length} interrupt counters began again`]),
    ...nccl.events.map(({ id, count, meaning }) => `${count} times ${id}: ${meaning}`),
    ...perf.errors.slice(0, LINES_SHOWN),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

export function metricsText(view: RunView): string {
  const { nccl, tests } = view;
  const rows = tests.rows.map(({ sizeBytes, outOfPlace, inPlace }) => [
    ...[String(sizeBytes), String(outOfPlace.algorithmGBps), String(outOfPlace.busGBps)],
    ...[String(inPlace?.algorithmGBps ?? '-'), String(inPlace?.busGBps ?? '-')],
  ]);
  const heading = ['size', 'algorithm GB/s', 'bus GB/s', 'in place', 'bus in place'];
  const versions = [
    ['NCCL', nccl.version ?? 'not in the log'],
    ['plugin', nccl.pluginVersion ?? 'not in the log'],
    ['network', nccl.network ?? 'not in the log'],
    ['chunk', nccl.chunkBytes === undefined ? 'not in the log' : String(nccl.chunkBytes)],
  ];
  return [
    `bandwidth: ${headline(view)}\n`,
    alignColumns(versions),
    section(
      'Results (10^9 bytes per second)',
      rows.length === 0 ? '' : alignColumns([heading, ...rows]),
    ),
    section('Channels by NIC', channelTable(view)),
    section('Threads', threadTable(view)),
    section('Flows', flowTable(view)),
    section(
      'Events',
      nccl.events.map(({ count, level, first }) => `${count} × ${level}: ${first}\n`).join(''),
    ),
  ].join('\n');
}

/** Channels of each NIC, sends and receives apart. */
export function channelsByNic({ nccl, perf }: RunView): ReadonlyMap<string, readonly number[]> {
  const byNic = new Map<string, Set<number>>();
  const add = (nic: string, channel: number) => {
    const known = byNic.get(nic) ?? new Set<number>();
    byNic.set(nic, known.add(channel));
  };
  for (const { nic, device, channel } of nccl.channels) add(nic ?? `device ${device}`, channel);
  for (const { nic, channel } of perf.channelNics) add(nic, channel);
  return new Map([...byNic].map(([nic, all]) => [nic, [...all].sort((a, b) => a - b)]));
}

function channelTable(view: RunView): string {
  const rows = [...channelsByNic(view)].map(([nic, all]) => [nic, formatCpuList(all)]);
  return rows.length === 0 ? '' : alignColumns([['NIC', 'channels'], ...rows]);
}

function threadTable({ nccl }: RunView): string {
  const rows = nccl.threads
    .slice(0, 256)
    .map(({ host, thread, device, cpu }) => [host, thread, String(device ?? '-'), String(cpu)]);
  return rows.length === 0 ? '' : alignColumns([['host', 'thread', 'GPU', 'CPU'], ...rows]);
}

function flowTable({ nccl }: RunView): string {
  const rows = nccl.flows
    .slice(0, 256)
    .map(({ flow, cpu, napiId }) => [flow, String(cpu ?? '-'), String(napiId ?? '-')]);
  return rows.length === 0 ? '' : alignColumns([['flow', 'CPU', 'queue'], ...rows]);
}
