// Many runs, one after the other; a failure comes with the command that repeats it.

import { type RunFigures, type RunOptions, runSeed } from './run-seed.js';

export interface SeedFailure {
  readonly seed: number;
  readonly reason: string;
}

export interface SeedsOutcome {
  readonly failures: readonly SeedFailure[];
  readonly figures: RunFigures;
}

export function replayCommand(seed: number): string {
  return `npm run sim -- --seed ${seed}`;
}

export async function runSeeds(
  seeds: Iterable<number>,
  options: RunOptions = {},
  onFailure: (failure: SeedFailure) => void = () => undefined,
): Promise<SeedsOutcome> {
  const failures: SeedFailure[] = [];
  let figures: RunFigures = {
    rounds: 0,
    transfers: 0,
    done: 0,
    matched: 0,
    failovers: 0,
    lostSessions: 0,
    virtualMs: 0,
  };
  for (const seed of seeds) {
    try {
      figures = addFigures(figures, await runSeed(seed, options));
    } catch (error) {
      const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      failures.push({ seed, reason });
      onFailure({ seed, reason });
    }
  }
  return { failures, figures };
}

export function addFigures(a: RunFigures, b: RunFigures): RunFigures {
  return {
    rounds: a.rounds + b.rounds,
    transfers: a.transfers + b.transfers,
    done: a.done + b.done,
    matched: a.matched + b.matched,
    failovers: a.failovers + b.failovers,
    lostSessions: a.lostSessions + b.lostSessions,
    virtualMs: a.virtualMs + b.virtualMs,
  };
}

export function* seedRange(from: number, count: number, stride = 1): Generator<number> {
  for (let index = 0; index < count; index += stride) yield from + index;
}
