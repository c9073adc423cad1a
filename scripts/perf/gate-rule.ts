// When a build counts as slower than it was: by the ratio to a plain stream over loopback that was
// measured in the same run, never by a time. Pure.
//
// The rule: the best ratio of the rounds against the stored one, less a margin of 40 %. Noise
// would have to slow us in every round and spare the plain stream in all of them; what this misses
// is a loss of less than that, which `npm run perf` and `tcpx bench diff` are for.

export interface GateStore {
  readonly schema: 'tcpx.perf-gate/1';
  /** Ours over the plain stream; median of many rounds. */
  readonly ratios: Readonly<Record<string, number>>;
  /** Where and when they were obtained. */
  readonly measuredOn: string;
}

export interface GateVerdict {
  readonly name: string;
  readonly best: number;
  readonly least: number;
  readonly isMet: boolean;
}

const MARGIN = 0.4;

export function judgeGate(
  { ratios }: GateStore,
  measured: Readonly<Record<string, readonly number[]>>,
): GateVerdict[] {
  return Object.entries(ratios).map(([name, stored]) => {
    const best = Math.max(...(measured[name] ?? []));
    const least = stored * (1 - MARGIN);
    return { name, best, least, isMet: best >= least };
  });
}
