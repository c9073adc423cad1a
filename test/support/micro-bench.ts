// Measures one operation many times: nanoseconds, and the collector runs that it caused. A case
// loops by itself, so that the compiler sees one call site per case and the harness costs nothing.

import { PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { medianOf } from '../../src/bench/statistics.js';

export interface MicroCase {
  /** `unit: operation`. */
  readonly name: string;
  /** Operations of one round: enough for some 10 ms. */
  readonly operations: number;
  open(): OpenMicroCase | Promise<OpenMicroCase>;
}

export interface OpenMicroCase {
  run(operations: number): void;
  close(): void | Promise<void>;
}

export interface MicroFigure {
  readonly name: string;
  readonly operations: number;
  readonly rounds: number;
  readonly nsPerOperation: { readonly p50: number; readonly min: number; readonly max: number };
  /** Collector runs of this thread in the timed windows of all rounds. */
  readonly collections: number;
  readonly collectionsPerMillion: number;
}

export interface MicroOptions {
  readonly rounds: number;
  /** 1 as declared; less for a look that the cases work. */
  readonly scale: number;
}

interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** Rounds before the measured ones, for the compiler. */
const WARMUP_ROUNDS = 3;

export async function measureCase(one: MicroCase, options: MicroOptions): Promise<MicroFigure> {
  const operations = Math.max(1, Math.round(one.operations * options.scale));
  const open = await one.open();
  try {
    for (let round = 0; round < WARMUP_ROUNDS; round++) open.run(operations);
    const { windows, collections } = await countCollections(() => {
      return Array.from({ length: options.rounds }, () => timeRound(open, operations));
    });
    const costs = windows.map(({ startMs, endMs }) => ((endMs - startMs) * 1e6) / operations);
    return {
      name: one.name,
      operations,
      rounds: options.rounds,
      nsPerOperation: {
        p50: medianOf(costs),
        min: Math.min(...costs),
        max: Math.max(...costs),
      },
      collections,
      collectionsPerMillion: (collections / (operations * options.rounds)) * 1e6,
    };
  } finally {
    await open.close();
  }
}

function timeRound(open: OpenMicroCase, operations: number): Window {
  const startMs = performance.now();
  open.run(operations);
  return { startMs, endMs: performance.now() };
}

/** Entries reach an observer only after the loop has turned: those of set-up are sorted out. */
export async function countCollections(work: () => Window[]) {
  const startsMs: number[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) startsMs.push(entry.startTime);
  });
  observer.observe({ entryTypes: ['gc'] });
  const windows = work();
  await sleep(20);
  observer.disconnect();
  const isTimed = (atMs: number): boolean =>
    windows.some(({ startMs, endMs }) => atMs >= startMs && atMs <= endMs);
  return { windows, collections: startsMs.filter(isTimed).length };
}
