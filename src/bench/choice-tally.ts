// What the engine gave each transfer of a run, where nobody had set that: over how many lanes, by
// which way. A figure that hangs on a wrong choice, or on trials of others, shows here. Bounded: as
// many kinds as there are.

import { plural } from '../base/units.js';
import type { Receipt } from '../engine/internal.js';

type Choice = Receipt['choices'][number];
type TallyReceipt = Pick<Receipt, 'operation' | 'choices' | 'bytes' | 'durationUs'>;

/** Transfers of one kind. */
export interface ChoiceTally {
  readonly operation: Receipt['operation'];
  /** By name: what they were given. */
  readonly choices: Readonly<Record<string, string>>;
  readonly transfers: number;
  /**
   * 10^9 bytes per second of each alone: all of their bytes over the sum of their times, from post
   * to confirmed. Of several in flight at once each has a part of the whole.
   */
  readonly gigabytesPerSecond: number;
  /** Number of the first and of the last of them, from 0, among all that were measured. */
  readonly first: number;
  readonly last: number;
}

interface Kind {
  readonly operation: Receipt['operation'];
  readonly choices: Readonly<Record<string, string>>;
  readonly first: number;
  last: number;
  transfers: number;
  bytes: number;
  durationUs: number;
}

/** Choices that each transfer has of its own. */
const OWN: ReadonlySet<string> = new Set(['lanes', 'channels', 'socket.sendBy', 'copies']);
const AUTO = 'auto';

export class ChoiceTallies {
  readonly #kinds = new Map<string, Kind>();
  #transfers = 0;

  add(receipt: TallyReceipt): void {
    const index = this.#transfers++;
    let own = '';
    for (const choice of receipt.choices) {
      if (isOwn(choice)) own += `${choice.name}=${choice.value} `;
    }
    if (own === '') return;
    const key = `${receipt.operation} ${own}`;
    const kind = this.#kinds.get(key) ?? this.#open(key, receipt, index);
    kind.last = index;
    kind.transfers++;
    kind.bytes += receipt.bytes;
    kind.durationUs += receipt.durationUs;
  }

  /** The most frequent first; none where nothing was left to the engine. */
  all(): readonly ChoiceTally[] {
    const kinds = [...this.#kinds.values()].sort((a, b) => b.transfers - a.transfers);
    return kinds.map(({ operation, choices, transfers, bytes, durationUs, first, last }) => {
      const gigabytesPerSecond = bytes / durationUs / 1000;
      return { operation, choices, transfers, gigabytesPerSecond, first, last };
    });
  }

  #open(key: string, { operation, choices }: TallyReceipt, first: number): Kind {
    const own = choices.filter(isOwn).map(({ name, value }) => [name, value]);
    const names = Object.fromEntries(own) as Record<string, string>;
    const none = { last: first, transfers: 0, bytes: 0, durationUs: 0 };
    const kind = { operation, choices: names, first, ...none };
    this.#kinds.set(key, kind);
    return kind;
  }
}

function isOwn({ name, reason }: Choice): boolean {
  return OWN.has(name) && reason.startsWith(AUTO);
}

/** `2 lanes, splice: 95 of 100 at 9.10 GB/s; …` */
export function formatTallies(tallies: readonly ChoiceTally[]): string {
  const all = tallies.reduce((sum, { transfers }) => sum + transfers, 0);
  const isMixed = new Set(tallies.map(({ operation }) => operation)).size > 1;
  const texts = tallies.map(({ operation, choices, transfers, gigabytesPerSecond }) => {
    const what = isMixed ? `${operation}, ${formatKind(choices)}` : formatKind(choices);
    return `${what}: ${transfers} of ${all} at ${gigabytesPerSecond.toFixed(2)} GB/s`;
  });
  return texts.join('; ');
}

const NOUNS: Readonly<Record<string, string>> = { lanes: 'lane', channels: 'channel' };

function formatKind(choices: ChoiceTally['choices']): string {
  const words = Object.entries(choices).map(([name, value]) => {
    const noun = NOUNS[name];
    return noun === undefined ? value : plural(Number(value), noun);
  });
  return words.join(', ');
}
