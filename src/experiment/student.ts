// Quantiles of Student's distribution: what intervals of a few runs need. Pure.

import { assert } from '../base/assert.js';

const STEPS = 200;
const TINY = 1e-300;
const CLOSE = 1e-14;
const LANCZOS = [
  ...[76.18009172947146, -86.50532032941677, 24.01409824083091],
  ...[-1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5],
] as const;

const known = new Map<string, number>();

/** The value that a variable with so many degrees of freedom stays below with this probability. */
export function studentQuantile(probability: number, freedom: number): number {
  assert(probability > 0 && probability < 1 && freedom > 0, 'a quantile has a probability');
  if (probability < 0.5) return -studentQuantile(1 - probability, freedom);
  const key = `${probability} ${freedom}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const value = bisect((t) => studentTail(t, freedom) > 1 - probability);
  known.set(key, value);
  return value;
}

/** How likely such a variable exceeds t, for t of 0 and more. */
export function studentTail(t: number, freedom: number): number {
  return 0.5 * incompleteBeta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

function bisect(isBelow: (t: number) => boolean): number {
  let low = 0;
  let high = 1;
  while (isBelow(high)) high *= 2;
  for (let step = 0; step < STEPS && high - low > CLOSE * high; step++) {
    const middle = (low + high) / 2;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The regularised incomplete beta function, by its continued fraction (Lentz). */
function incompleteBeta(a: number, b: number, x: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(
    logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x),
  );
  if (x < (a + 1) / (a + b + 2)) return (front * betaFraction(a, b, x)) / a;
  return 1 - (front * betaFraction(b, a, 1 - x)) / b;
}

function betaFraction(a: number, b: number, x: number): number {
  const away = (value: number) => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= STEPS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    result *= d * c;
    if (Math.abs(d * c - 1) < CLOSE) break;
  }
  return result;
}

function logGamma(x: number): number {
  const base = x + 5.5;
  const series = LANCZOS.reduce(
    (sum, factor, index) => sum + factor / (x + index + 1),
    1.000000000190015,
  );
  return (x + 0.5) * Math.log(base) - base + Math.log((2.5066282746310005 * series) / x);
}
