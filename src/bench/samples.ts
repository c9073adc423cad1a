// Single measurements that are kept with a result, so that two results can be compared later.

/** Per series: enough to compare by, some 40 KB of text. */
export const SAMPLES_MAX = 2000;

export interface SampleSeries {
  /** One of so many is kept, in the order of time. */
  readonly every: number;
  readonly values: readonly number[];
}

const DIGITS = 6;

/** Pure. */
export function thinSamples(samples: readonly number[]): SampleSeries {
  const every = Math.max(1, Math.ceil(samples.length / SAMPLES_MAX));
  const kept = every === 1 ? samples : samples.filter((_, index) => index % every === 0);
  // More digits than a clock has would only make files long.
  return { every, values: kept.map((value) => Number(value.toPrecision(DIGITS))) };
}
