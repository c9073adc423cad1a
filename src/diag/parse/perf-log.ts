// What point-to-point programs log: averages, iterations, a line per chunk, channel maps; and the
// result documents of our own benchmark. Their "GB" may be 2^30 bytes: told where it shows. Pure.

import { logLines } from './log-line.js';

export interface PerfAverage {
  readonly ms: number;
  /** As printed. */
  readonly rate: number;
  readonly iterations: number | undefined;
}

export interface ChunkLine {
  readonly role: 'server' | 'client';
  readonly chunk: number;
  readonly channel: number | undefined;
  readonly tag: number | undefined;
  readonly bytes: number | undefined;
  readonly offset: number | undefined;
  /** Requests in flight and the most there may be. */
  readonly pending: number | undefined;
  readonly pendingMax: number | undefined;
}

export interface PerfLog {
  readonly averages: readonly PerfAverage[];
  readonly iterationMs: readonly number[];
  readonly totalBytes: number | undefined;
  readonly chunkBytes: number | undefined;
  readonly gpu: number | undefined;
  readonly channelNics: readonly { readonly channel: number; readonly nic: string }[];
  readonly socketsPerChannel: number | undefined;
  readonly channelCount: number | undefined;
  readonly chunks: readonly ChunkLine[];
  readonly errors: readonly string[];
  /** Pauses of the collector that Node printed (--trace-gc). */
  readonly pausesMs: readonly number[];
}

const ENTRIES_MAX = 100_000;
const ERRORS_MAX = 100;
const AVERAGE = new RegExp(
  String.raw`\[(?:PERF|STEADY-STATE)\] Avg(?: time)?(?: \((\d+) iter\))?: ([\d.]+) ms, ` +
    String.raw`(?:BW|Bandwidth): ([\d.]+) GB/s`,
);
const CHUNK = /\[(?:DEBUG|PERF)\]\[(SERVER|CLIENT)\] (?:chunk|chunk_idx)=(\d+)(.*)/;

interface Draft {
  averages: PerfAverage[];
  iterationMs: number[];
  channelNics: { channel: number; nic: string }[];
  chunks: ChunkLine[];
  errors: string[];
  pausesMs: number[];
  numbers: Record<string, number>;
}

export function parsePerfLog(text: string): PerfLog {
  const draft: Draft = {
    ...{ averages: [], iterationMs: [], channelNics: [], chunks: [], errors: [], pausesMs: [] },
    numbers: {},
  };
  for (const line of logLines(text)) takeLine(draft, line);
  const { numbers, ...lists } = draft;
  return {
    ...lists,
    totalBytes: numbers['totalBytes'],
    chunkBytes: numbers['chunkBytes'],
    gpu: numbers['gpu'],
    socketsPerChannel: numbers['sockets'],
    channelCount: numbers['channels'],
  };
}

const NUMBERS: readonly (readonly [RegExp, string])[] = [
  [/\[PERF\] GPU: (\d+)/, 'gpu'],
  [/\btotal bytes=(\d+)/i, 'totalBytes'],
  [/\bTotal bytes: (\d+)/, 'totalBytes'],
  [/\bchunk_bytes=(\d+)/, 'chunkBytes'],
  [/\bSockets per channel: *(\d+)/, 'sockets'],
  [/\bChannels per GPU: *(\d+)/, 'channels'],
];

function takeLine(draft: Draft, line: string): void {
  const push = <T>(list: T[], value: T, max = ENTRIES_MAX) => {
    if (list.length < max) list.push(value);
  };
  const average = AVERAGE.exec(line);
  if (average !== null) {
    const [, count, ms, rate] = average;
    const iterations = count === undefined ? undefined : Number(count);
    push(draft.averages, { ms: Number(ms), rate: Number(rate), iterations });
    return;
  }
  const chunk = CHUNK.exec(line);
  if (chunk !== null) push(draft.chunks, chunkOf(chunk));
  const iteration = /\[PERF\] Iter \d+ time=([\d.]+)ms/.exec(line)?.[1];
  if (iteration !== undefined) push(draft.iterationMs, Number(iteration));
  const nic = /\[ChannelManager\] Channel (\d+) → netDev \d+ \(([\w.-]+)/.exec(line);
  if (nic !== null) push(draft.channelNics, { channel: Number(nic[1]), nic: nic[2] ?? '' });
  for (const [pattern, name] of NUMBERS) {
    const value = pattern.exec(line)?.[1];
    if (value !== undefined) draft.numbers[name] = Number(value);
  }
  if (line.startsWith('[ERROR]')) push(draft.errors, line, ERRORS_MAX);
  if (line.includes(' ms: ')) takePause(draft, line);
}

/** `[1:0x…] 120 ms: Scavenge 4.6 (5.1) -> 4.1 (6.1) MB, 1.42 / 0.00 ms …`. */
function takePause(draft: Draft, line: string): void {
  const pause = /\b(?:Scavenge|Mark-\w+|Minor Mark-\w+)\b.* MB, ([\d.]+) \/ /.exec(line)?.[1];
  if (pause !== undefined && draft.pausesMs.length < ENTRIES_MAX) {
    draft.pausesMs.push(Number(pause));
  }
}

function chunkOf(match: RegExpExecArray): ChunkLine {
  const rest = match[3] ?? '';
  const field = (name: string) => {
    const value = new RegExp(`\\b${name}=(\\d+)`).exec(rest)?.[1];
    return value === undefined ? undefined : Number(value);
  };
  const pending = /\b(?:outstanding|pending)=(\d+)\/(\d+)/.exec(rest);
  return {
    role: match[1] === 'SERVER' ? 'server' : 'client',
    chunk: Number(match[2]),
    channel: field('channel'),
    tag: field('tag'),
    bytes: field('size'),
    offset: field('offset'),
    pending: pending === null ? undefined : Number(pending[1]),
    pendingMax: pending === null ? undefined : Number(pending[2]),
  };
}

const GIB = 1024 ** 3;
const SAME_SHARE = 0.03;

/** The unit that a printed rate was made with, by bytes and time; undefined where neither fits. */
export function rateUnit(bytes: number, ms: number, rate: number): 'GB/s' | 'GiB/s' | undefined {
  const perSecond = (bytes / ms) * 1000;
  const isNear = (unit: number) => Math.abs(perSecond / unit / rate - 1) < SAME_SHARE;
  if (!(ms > 0) || !(rate > 0)) return undefined;
  if (isNear(GIB)) return 'GiB/s';
  return isNear(1e9) ? 'GB/s' : undefined;
}
