// Statistics of samples. Pure.

export interface Spread {
  readonly mean: number;
  readonly p50: number;
  readonly min: number;
  readonly max: number;
}

export interface Percentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** The smallest sample that at least `fraction` of the samples do not exceed (nearest rank). */
export function percentile(sorted: readonly number[], fraction: number): number {
  const rank = Math.max(1, Math.ceil(fraction * sorted.length));
  return sorted[rank - 1] ?? Number.NaN;
}

/** Of rates at which equal amounts moved: the mean is all of them over all the time they took. */
export function rateSpreadOf(rates: readonly number[]): Spread {
  const sorted = ascending(rates);
  const time = sorted.reduce((total, rate) => total + 1 / rate, 0);
  return {
    mean: sorted.length / time,
    p50: percentile(sorted, 0.5),
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

export function percentilesOf(samples: readonly number[]): Percentiles {
  const sorted = ascending(samples);
  return {
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    max: sorted.at(-1) ?? Number.NaN,
  };
}

export function medianOf(samples: readonly number[]): number {
  return percentile(ascending(samples), 0.5);
}

function ascending(samples: readonly number[]): number[] {
  return [...samples].sort((a, b) => a - b);
}
