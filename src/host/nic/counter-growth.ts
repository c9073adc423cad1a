// How far counters grew between two readings. A counter that is missing in one of them, or that
// fell, has no growth: it is unknown, never zero and never negative. Pure.

export type Counters = Readonly<Record<string, number>>;

export function growthOf(before: number | undefined, after: number | undefined) {
  if (before === undefined || after === undefined || after < before) return undefined;
  return after - before;
}

export interface CounterGrowth {
  /** Of counters in both readings that did not fall. */
  readonly grown: Counters;
  /** Counters that fell: their device or driver was reset in between. */
  readonly fell: readonly string[];
}

export function growthBetween(before: Counters, after: Counters): CounterGrowth {
  const grown: Record<string, number> = {};
  const fell: string[] = [];
  for (const [name, value] of Object.entries(after)) {
    const earlier = before[name];
    if (earlier === undefined) continue;
    if (value < earlier) fell.push(name);
    else grown[name] = value - earlier;
  }
  return { grown, fell };
}

/** A sum in which one unknown part makes the whole unknown; no part at all is unknown too. */
export function sumKnown(parts: readonly (number | undefined)[]): number | undefined {
  if (parts.length === 0) return undefined;
  let sum = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    sum += part;
  }
  return sum;
}
