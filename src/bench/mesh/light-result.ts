// A pair's result without what a matrix of hundreds would be swamped by. Pure.

import type { BenchResult } from '../bench-result.js';
import type { SampleSeries } from '../samples.js';

/** Enough for a verdict on the pair. */
const SAMPLES_MAX = 200;
const DROPPED = ['intervals', 'interrupts'];

export function lightResult(result: BenchResult): BenchResult {
  const rest = Object.fromEntries(
    Object.entries(result).filter(([name]) => !DROPPED.includes(name)),
  ) as unknown as BenchResult;
  const { samples } = result;
  if (samples === undefined) return rest;
  const { bandwidthGBps, latencyUs } = samples;
  return { ...rest, samples: { bandwidthGBps: thin(bandwidthGBps), latencyUs: thin(latencyUs) } };
}

/** Every so-manieth, from all of its time. */
function thin({ every, values }: SampleSeries): SampleSeries {
  const step = Math.ceil(values.length / SAMPLES_MAX);
  if (step <= 1) return { every, values };
  return { every: every * step, values: values.filter((_, index) => index % step === 0) };
}
