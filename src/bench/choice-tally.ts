// What the engine gave each transfer of a run, where nobody had set that: over how many lanes, by
// which way. A figure that hangs on a wrong choice, or on trials of others, shows here. Bounded: as
// many kinds as there are.

import type { Receipt } from '../engine/internal.js';

type Choice = Receipt['choices'][number];

/** Transfers of one kind. */
export interface ChoiceTally {
  /** By name: what they were given. */
  readonly choices: Readonly<Record<string, string>>;
  readonly transfers: number;
  /** 10^9 bytes per second of these alone: all bytes over all of their time. */
  readonly gigabytesPerSecond: number;
  /** Number of the first and of the last of them, from 0, among all that were measured. */
  readonly first: number;
  readonly last: number;
}

interface Kind {
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

  add(choices: readonly Choice[], bytes: number, durationUs: number): void {
    const index = this.#transfers++;
    let key = '';
    for (const choice of choices) if (isOwn(choice)) key += `${choice.name}=${choice.value} `;
    if (key === '') return;
    const kind = this.#kinds.get(key) ?? this.#open(key, choices, index);
    kind.last = index;
    kind.transfers++;
    kind.bytes += bytes;
    kind.durationUs += durationUs;
  }

  /** The most frequent first; none where nothing was left to the engine. */
  all(): readonly ChoiceTally[] {
    const kinds = [...this.#kinds.values()].sort((a, b) => b.transfers - a.transfers);
    return kinds.map(({ choices, transfers, bytes, durationUs, first, last }) => {
      return { choices, transfers, gigabytesPerSecond: bytes / durationUs / 1000, first, last };
    });
  }

  #open(key: string, choices: readonly Choice[], first: number): Kind {
    const own = choices.filter(isOwn).map(({ name, value }) => [name, value]);
    const names = Object.fromEntries(own) as Record<string, string>;
    const kind = { choices: names, first, last: first, transfers: 0, bytes: 0, durationUs: 0 };
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
  const texts = tallies.map(({ choices, transfers, gigabytesPerSecond }) => {
    const rate = gigabytesPerSecond.toFixed(2);
    return `${formatKind(choices)}: ${transfers} of ${all} at ${rate} GB/s`;
  });
  return texts.join('; ');
}

function formatKind(choices: ChoiceTally['choices']): string {
  const words = Object.entries(choices).map(([name, value]) => {
    if (name !== 'lanes' && name !== 'channels') return value;
    return value === '1' ? `1 ${name.slice(0, -1)}` : `${value} ${name}`;
  });
  return words.join(', ');
}
