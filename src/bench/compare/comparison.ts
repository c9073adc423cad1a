// Ourselves against others in figures that were taken in turn, and against what no transfer can
// exceed: ratios with their intervals, which roof binds, how near we are. Pure.

import { medianOf } from '../statistics.js';
import { type PairedRatio, pairedRatio } from './paired-ratio.js';

/** What a figure is about: only like figures are compared. */
export type Work = 'write' | 'read' | 'latency';

/** One of several that take turns: figures of each round, NaN where a round failed. */
export interface Series {
  readonly name: string;
  readonly work: Work;
  readonly isOurs: boolean;
  /** Bytes per second, or µs of half a round trip. */
  readonly figures: readonly number[];
}

export interface Roof {
  readonly name: string;
  /** Bytes per second, of each round; empty where it is not known. */
  readonly figures: readonly number[];
  /** Where it comes from, or why it is not known. */
  readonly detail: string;
  /** Whether the bytes of this comparison pass under it. */
  readonly applies: boolean;
}

/** Ours against the peer's. `far`: decided by the size of the gap alone, in few turns. */
type Verdict = 'better' | 'worse' | 'peer far behind' | 'peer far ahead' | 'not decided';

export interface ComparedRow {
  readonly work: Work;
  readonly peer: string;
  readonly ours: number;
  readonly theirs: number;
  /** Above 1 we are better, also where less is better. */
  readonly ratio: PairedRatio;
  readonly verdict: Verdict;
}

export interface BindingRoof {
  readonly work: Work;
  readonly name: string;
  readonly bytesPerSecond: number;
  /** Ours over the roof. */
  readonly share: number;
}

export function compareSeries(series: readonly Series[]): ComparedRow[] {
  return series
    .filter(({ isOurs }) => !isOurs)
    .flatMap((peer) => {
      const ours = series.find(({ isOurs, work }) => isOurs && work === peer.work);
      return ours === undefined ? [] : rowOf(ours, peer);
    });
}

/** Rounds in which both have a figure. */
function rowOf(ours: Series, peer: Series): ComparedRow[] {
  const pairs = ours.figures.flatMap((figure, round) => {
    const theirs = peer.figures[round];
    const isPair = theirs !== undefined && Number.isFinite(figure) && Number.isFinite(theirs);
    return isPair ? [[figure, theirs] as const] : [];
  });
  if (pairs.length === 0) return [];
  const [first, second] = [pairs.map(([own]) => own), pairs.map(([, other]) => other)];
  const isLessBetter = peer.work === 'latency';
  const ratio = isLessBetter ? pairedRatio(second, first) : pairedRatio(first, second);
  const verdict = judge(ratio);
  return [
    {
      work: peer.work,
      peer: peer.name,
      ours: medianOf(first),
      theirs: medianOf(second),
      ratio,
      verdict,
    },
  ];
}

/** So far apart in every turn, a few say it; one may be an accident. */
const FAR = 4;
const FAR_TURNS_MIN = 2;
const CONFIDENCE = 0.95;

function judge({ low, high, confidence, pairs }: PairedRatio): Verdict {
  const isSure = confidence >= CONFIDENCE;
  if (isSure && low > 1) return 'better';
  if (isSure && high < 1) return 'worse';
  if (pairs >= FAR_TURNS_MIN && low > FAR) return 'peer far behind';
  if (pairs >= FAR_TURNS_MIN && high < 1 / FAR) return 'peer far ahead';
  return 'not decided';
}

/** For each way of moving bytes: the lowest roof that is known and applies. */
export function bindingRoofs(series: readonly Series[], roofs: readonly Roof[]): BindingRoof[] {
  const known = roofs
    .filter(({ applies, figures }) => applies && figures.length > 0)
    .map(({ name, figures }) => ({ name, bytesPerSecond: medianOf(figures) }))
    .sort((a, b) => a.bytesPerSecond - b.bytesPerSecond);
  const [lowest] = known;
  if (lowest === undefined) return [];
  return series
    .filter(({ isOurs, work }) => isOurs && work !== 'latency')
    .map(({ work, figures }) => {
      const share = medianOf(figures.filter(Number.isFinite)) / lowest.bytesPerSecond;
      return { work, ...lowest, share };
    });
}
