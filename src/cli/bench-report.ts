// A benchmark result as a newcomer reads it.

import { formatCpuList } from '../base/cpu-set.js';
import { formatBytes, formatUs, plural } from '../base/units.js';
import type { BenchReport } from '../bench/bench-message.js';
import type { BenchResult } from '../bench/bench-result.js';
import { formatTallies } from '../bench/choice-tally.js';
import type { BenchInterval } from '../bench/interval-meter.js';
import type { ThresholdVerdict } from '../bench/thresholds.js';
import type { NicDevmem, Receipt } from '../engine/internal.js';
import { formatTable } from './print.js';

export function formatBenchResult(result: BenchResult): string {
  const { bandwidthGBps: rate, latencyUs: latency } = result;
  const gbps = (value: number): string => value.toFixed(2);
  const rows = [
    ['', 'median', 'mean', 'min', 'max'],
    ['bandwidth GB/s', gbps(rate.p50), gbps(rate.mean), gbps(rate.min), gbps(rate.max)],
  ];
  const latencies =
    `${formatUs(latency.p50)} p50, ${formatUs(latency.p90)} p90, ` + `${formatUs(latency.p99)} p99`;
  const what = result.op === 'pingpong' ? 'half round trip' : 'post to confirmed';
  const lines = [
    `${OPERATIONS[result.op] ?? result.op} of ${formatBytes(result.sizeBytes)}` +
      `${describeBlocks(result)}, ` +
      `${plural(result.iterations, 'iteration')}, ${pathName(result)}, ` +
      `${plural(result.channels, 'channel')}, ` +
      describeProgress(result),
    '',
    formatTable(rows),
    `latency         ${latencies} (${what})`,
    ...describeKv(result),
    `cpu per GB      ${result.cpuSecondsPerGB.initiator.toFixed(2)} s initiator, ` +
      `${result.cpuSecondsPerGB.target.toFixed(2)} s target`,
    `verified        ${describeVerified(result)}`,
    ...describePath(result),
    `channels        ${describeChannels(result)}`,
    ...describeTcp(result),
    `lanes           ${describeLanes(result)}`,
    ...describeChosen(result),
    ...(result.config['socket.sendBy'] === 'zerocopy'
      ? [`zero-copy       ${describeZeroCopy(result)}`]
      : []),
    ...describePlugin(result),
    ...describePages(result),
    ...describeMachines(result),
    ...(result.partial === undefined ? [] : [`PARTIAL         ${result.partial}`]),
    ...(result.warnings ?? []).map((warning) => `warning         ${warning}`),
  ];
  return `${lines.join('\n')}\n`;
}

/** While it runs, as iperf3 has it. */
export function formatInterval(interval: BenchInterval): string {
  const { fromS, toS, bytes, bandwidthGBps, iterations, retransmits } = interval;
  const again = retransmits < 0 ? '' : `  ${retransmits} retransmitted`;
  const seconds = `${fromS.toFixed(2)}-${toS.toFixed(2)} s`;
  return (
    `${seconds.padStart(15)}  ${formatBytes(bytes).padStart(9)}  ` +
    `${bandwidthGBps.toFixed(2)} GB/s  ${plural(iterations, 'iteration')}${again}`
  );
}

/** What a client tells the server of its run. */
export function formatReport(peer: string, report: BenchReport): string {
  const { op, iterations, bytes, medianGBps, latencyP50Us, isOk, checked } = report;
  const good = checked === 0 ? 'nothing checked' : 'all correct';
  return (
    `client ${peer}: ${plural(iterations, 'iteration')} of ${op}, ${formatBytes(bytes)}, ` +
    `median ${medianGBps.toFixed(2)} GB/s, latency ${formatUs(latencyP50Us)}, ` +
    (isOk ? good : 'WRONG')
  );
}

/** Several runs of one command: a line for each, the last in full. */
export function formatRuns(runs: readonly BenchResult[]): string {
  const rows = runs.map((run, index) => [
    String(index + 1),
    run.bandwidthGBps.p50.toFixed(2),
    formatUs(run.latencyUs.p50),
    formatUs(run.latencyUs.p99),
    run.ok ? (run.partial === undefined ? 'ok' : 'partial') : 'WRONG',
  ]);
  const table = formatTable([['run', 'GB/s', 'latency', 'p99', ''], ...rows]);
  const last = runs.at(-1);
  return `${table}\n${last === undefined ? '' : formatBenchResult(last)}`;
}

export function formatThresholds(verdicts: readonly ThresholdVerdict[]): string {
  return verdicts
    .map(({ metric, relation, limit, value, ok }) => {
      const figure = value === undefined ? 'not known' : String(Number(value.toPrecision(4)));
      return `${ok ? 'ok' : 'FAIL'}  ${metric} ${figure}, may not be ${relation} ${limit}\n`;
    })
    .join('');
}

export const EMULATED =
  'emulated: the plugin is an emulator, and this says nothing of the hardware';
const EVIDENCE: Readonly<Record<string, string>> = { emulated: EMULATED };
const OPERATIONS: Readonly<Record<string, string>> = { both: 'write and read at once' };

// Compared with a peer on other pages a figure says as much of the pages as of either.
function describePages({ pages }: BenchResult): string[] {
  if (pages === undefined) return [];
  const names = { normal: '4 KiB', transparent: 'transparent huge', huge: 'huge, of the pool' };
  return [`pages           ${names[pages]}`];
}

/** Of one prompt; several that are posted together share the time. */
function describeKv({ kv, latencyUs }: BenchResult): string[] {
  if (kv === undefined) return [];
  const { model, tokens, descriptors, blockBytes } = kv;
  return [
    `per prompt      ${formatUs(latencyUs.p50)} for ${tokens} tokens of ${model}: ` +
      `${plural(descriptors, 'block')} of ${formatBytes(blockBytes)}`,
  ];
}

function describeProgress(result: BenchResult): string {
  if (result.provider === 'tcpx')
    return `plugin processes ${result.config['tcpx.processes'] ?? ''}`;
  return result.progress === 'caller' ? 'caller-driven' : plural(result.lanes, 'lane');
}

function describePlugin(result: BenchResult): string[] {
  const { devmem } = result;
  const receipt = result.receipt as Receipt | undefined;
  if (receipt?.plugin === undefined) return [];
  const { own: plugin, unpack } = receipt.plugin;
  const packets = (devmem?.nics ?? []).map(describeNic).join(', ') || 'not counted';
  return [
    `plugin          ${plugin.name} ${plugin.version}, ${plugin.pointerType} pointers, ` +
      `unpack ${unpack}`,
    `device memory   ${packets}`,
    `plugin threads  ${describeThreads(result)}`,
    `evidence        ${EVIDENCE[result.evidence] ?? result.evidence}`,
  ];
}

function describeNic({ nic, packets, verdict, reason }: NicDevmem): string {
  if (verdict === 'idle') return `${nic}: no data`;
  if (packets < 0) return `${nic}: not counted`;
  return `${nic}: ${packets} packets${reason === '' ? '' : `, ${reason}`}`;
}

function describeThreads({ threads }: BenchResult): string {
  if (threads === undefined) return 'not looked at';
  const words: Readonly<Record<string, string>> = {
    bound: 'on the bound cores',
    none: 'no bindings for these NICs',
    unseen: 'none seen',
  };
  const { initiator, target } = threads;
  return `${words[initiator] ?? initiator} (initiator), ${words[target] ?? target} (target)`;
}

function describeBlocks(result: BenchResult): string {
  if (result.blockBytes === result.sizeBytes) return '';
  return ` in blocks of ${formatBytes(result.blockBytes)}`;
}

function describeVerified(result: BenchResult): string {
  const { iterations, mismatches } = result.verified;
  if (iterations === 0) return 'nothing (--verify none, or a latency run)';
  if (mismatches === 0) return `every byte of ${plural(iterations, 'iteration')}: all correct`;
  return `${mismatches} of ${iterations} iterations WRONG`;
}

function describeChannels(result: BenchResult): string {
  const receipt = result.receipt as Receipt | undefined;
  if (receipt === undefined) return 'no receipt';
  return receipt.channels
    .map(
      (one) => `${one.channel}${one.nic === '' ? '' : ` on ${one.nic}`}: ${formatBytes(one.bytes)}`,
    )
    .join(', ');
}

/** Who reads a figure of one machine shall not take it for one of a network. */
function describeMachines({ host, peer }: BenchResult): string[] {
  const text = ({ cpu, cores, kernel, node, congestion }: BenchResult['host']) =>
    `${cpu}, ${plural(cores, 'core')}, Linux ${kernel}, Node ${node}, ${congestion}`;
  const isOne = host.hostname === peer.hostname;
  const own = `measured on     ${text(host)}${isOne ? '; both ends on this machine' : ''}`;
  return isOne ? [own] : [own, `target on       ${peer.hostname}: ${text(peer)}`];
}

// Only what explains a figure: a clean run needs no line.
function describeTcp({ kernel }: BenchResult): string[] {
  const lossy = (kernel?.channels ?? []).filter(({ retransmits }) => retransmits > 0);
  if (lossy.length === 0) return [];
  const each = lossy.map(({ channel, retransmits, rttUs }) => {
    return `${channel}: ${retransmits} (round trip ${formatUs(rttUs)})`;
  });
  return [`retransmitted   ${each.join(', ')}`];
}

function describeLanes(result: BenchResult): string {
  if (result.provider === 'tcpx') return 'none had part: the plugin’s processes moved the data';
  if (result.laneCpus.length === 0) return 'none: the caller drives';
  return result.laneCpus
    .map(({ cpu, pinnedTo }, index) => {
      const pinned = pinnedTo.length === 0 ? '' : ` (pinned to ${formatCpuList(pinnedTo)})`;
      const isAstray = pinnedTo.length > 0 && !pinnedTo.includes(cpu);
      return `${index}: CPU ${cpu}${pinned}${isAstray ? ' NOT WHERE IT WAS PUT' : ''}`;
    })
    .join(', ');
}

// Transfers that were all alike need no tally.
function describeChosen({ chosen = [] }: BenchResult): string[] {
  return chosen.length < 2 ? [] : [`chosen          ${formatTallies(chosen)}`];
}

function describeZeroCopy(result: BenchResult): string {
  const total = { sends: 0, zeroCopied: 0, copied: 0, fallbacks: 0 };
  for (const one of result.zeroCopy) {
    total.sends += one.sends;
    total.zeroCopied += one.zeroCopied;
    total.copied += one.copied;
    total.fallbacks += one.fallbacks;
  }
  const { sends, zeroCopied, copied, fallbacks } = total;
  if (sends + fallbacks === 0) return 'nothing was sent that may go by reference';
  const parts = [`${zeroCopied} of ${plural(sends, 'send')}`];
  if (sends > 0 && copied === sends) parts.push('the kernel copied all, as it does on loopback');
  else if (copied > 0) parts.push(`the kernel copied ${copied}`);
  const open = sends - zeroCopied - copied;
  if (open > 0) parts.push(`${open} not reported on`);
  if (fallbacks > 0) parts.push(`${fallbacks} fell back to ordinary sends (ulimit -l, optmem_max)`);
  return parts.join(', ');
}

// On one host engines share memory by themselves; a benchmark does so only where it is asked.
function describePath({ provider, path, receipt }: BenchResult): string[] {
  const reason = (receipt as Receipt | undefined)?.pathReason ?? '';
  if (provider !== 'tcp' || path.startsWith('shm')) return [];
  if (!reason.startsWith('session.local is tcp')) return [];
  return ['path            TCP, though both ends are on one host; --local shm shares memory'];
}

/** TCP is what is measured unless somebody asked for shared memory: then it must be said. */
function pathName({ provider, path }: BenchResult): string {
  return path.startsWith('shm') ? 'shared memory, no network' : provider;
}
