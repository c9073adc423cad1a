// Fuzzing for a time: batch after batch, each target in turn, each batch with the next seed. The
// first failure ends it.

import { type FuzzFailure, type FuzzTarget, runBatch } from '../../test/support/fuzz-target.js';

export interface CampaignOptions {
  readonly targets: readonly FuzzTarget[];
  readonly seconds: number;
  /** Of the first batch; later ones count up. */
  readonly seed: number;
  /** Told before every batch, so that even a crash can name its seed. */
  onBatch(target: FuzzTarget, seed: number): void;
}

export interface CampaignResult {
  readonly runs: number;
  readonly batches: number;
  readonly failure?: FuzzFailure & { readonly target: string };
}

/** Every target gets at least one batch, however short the time. */
export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const endMs = performance.now() + options.seconds * 1000;
  let runs = 0;
  let batches = 0;
  for (let round = 0; round === 0 || performance.now() < endMs; round++) {
    for (const target of options.targets) {
      if (round > 0 && performance.now() >= endMs) break;
      const seed = (options.seed + round) | 0;
      options.onBatch(target, seed);
      const failure = await runBatch(target, seed);
      runs += target.runs;
      batches++;
      if (failure !== undefined) {
        return { runs, batches, failure: { ...failure, target: target.name } };
      }
    }
  }
  return { runs, batches };
}
