// What a terminal shows while a benchmark runs: how far it is, how fast, how long it takes yet, and
// the rate of each channel. Time comes in as an argument.

import { formatGBps } from '../base/units.js';

/** What a channel's connection has moved so far; negative where the kernel does not count. */
interface ChannelBytes {
  readonly channel: number;
  readonly nic: string;
  readonly bytesAcked: number;
  readonly bytesReceived: number;
}

const BAR_CELLS = 20;
/** A terminal is not a log: the first of them, and how many more there are. */
const CHANNEL_LINES = 8;
const REFRESH_MS = 200;

export class BenchProgress {
  #first: { readonly atMs: number; readonly done: number } | undefined;
  #lastMs = Number.NEGATIVE_INFINITY;
  #before: { readonly atMs: number; readonly channels: readonly ChannelBytes[] } | undefined;

  /** Lines to show now; undefined where the last ones are fresh enough. */
  lines(
    doneFraction: number,
    bytesPerSecond: number,
    channels: () => readonly ChannelBytes[],
    nowMs: number,
  ): string[] | undefined {
    const done = Math.min(1, doneFraction);
    this.#first ??= { atMs: nowMs, done };
    if (nowMs - this.#lastMs < REFRESH_MS) return undefined;
    this.#lastMs = nowMs;
    const left = leftText(done, done - this.#first.done, nowMs - this.#first.atMs);
    const head = `${barText(done)}  ${formatGBps(bytesPerSecond)}${left}`;
    return [head, ...this.#channelLines(channels(), nowMs)];
  }

  #channelLines(channels: readonly ChannelBytes[], nowMs: number): string[] {
    const before = this.#before;
    this.#before = { atMs: nowMs, channels };
    if (before === undefined || channels.length < 2) return [];
    const shown = channels.slice(0, CHANNEL_LINES).map((now) => {
      const old = before.channels.find(({ channel }) => channel === now.channel);
      const place = now.nic === '' ? '' : ` on ${now.nic}`;
      return `  channel ${now.channel}${place}: ${rateText(old, now, nowMs - before.atMs)}`;
    });
    const more = channels.length - shown.length;
    return more > 0 ? [...shown, `  and ${more} more`] : shown;
  }
}

/** Steps of a longer work: how many are done, which is under way, how long the rest may take. */
export class StepProgress {
  /** What was done when it began may have been done long before. */
  #first: { readonly part: number; readonly atMs: number } | undefined;

  line(done: number, total: number, step: string, nowMs: number): string {
    const part = done / total;
    this.#first ??= { part, atMs: nowMs };
    const left = leftText(part, part - this.#first.part, nowMs - this.#first.atMs);
    return `${barText(part)}  ${done} of ${total}${left}  ${step}`;
  }
}

function barText(done: number): string {
  const filled = Math.round(done * BAR_CELLS);
  const bar = `${'#'.repeat(filled)}${'.'.repeat(BAR_CELLS - filled)}`;
  return `[${bar}] ${Math.floor(done * 100)} %`;
}

/** At the pace since the first look. */
function leftText(done: number, grown: number, elapsedMs: number): string {
  if (grown <= 0) return '';
  const leftS = ((elapsedMs / grown) * (1 - done)) / 1000;
  return `  ${leftS < 10 ? leftS.toFixed(1) : Math.round(leftS)} s left`;
}

function rateText(old: ChannelBytes | undefined, now: ChannelBytes, elapsedMs: number): string {
  const isCounted = now.bytesAcked >= 0 && now.bytesReceived >= 0;
  if (old === undefined || !isCounted || elapsedMs <= 0) return 'not counted';
  const grown = now.bytesAcked - old.bytesAcked + now.bytesReceived - old.bytesReceived;
  // The rate above is of the transfers alone: what is filled and checked between them counts here.
  return `${formatGBps((grown / elapsedMs) * 1000)} by the clock`;
}
