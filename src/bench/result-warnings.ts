// What a reader of a result must know before believing it. Pure.

import { plural } from '../base/units.js';
import type { BenchResult, HostFacts } from './bench-result.js';

export type WarnedResult = Pick<
  BenchResult,
  | 'path'
  | 'iterations'
  | 'bytesMoved'
  | 'bandwidthGBps'
  | 'verified'
  | 'laneCpus'
  | 'zeroCopy'
  | 'kernel'
  | 'devmem'
  | 'load'
> & {
  readonly host: Pick<HostFacts, 'cores' | 'version'>;
  readonly peer: Pick<HostFacts, 'version'>;
};

/** Below this p99 is the largest sample, and an interval is wide. */
const ITERATIONS_WANTED = 20;
const SPREAD_MAX = 2.5;
/** What a scheduler does in such a time is chance. */
const MEASURED_MS_MIN = 50;
const STOLEN_MAX = 0.02;

export function warningsOf(result: WarnedResult): string[] {
  return [
    ...pathWarnings(result),
    ...sampleWarnings(result),
    ...machineWarnings(result),
    ...versionWarnings(result),
    ...channelWarnings(result),
  ];
}

/** Of several results: one of each kind, whatever its numbers, with how many have it. */
export function commonWarnings(
  results: readonly Pick<BenchResult, 'warnings'>[],
  noun: string,
): string[] {
  const kinds = new Map<string, { readonly text: string; readonly count: number }>();
  for (const text of results.flatMap(({ warnings }) => warnings ?? [])) {
    // One segment is of the kind of two segments.
    const kind = text.replaceAll(/\d+(\.\d+)?/g, '#').replaceAll(/s\b/g, '');
    const known = kinds.get(kind);
    kinds.set(kind, { text: known?.text ?? text, count: (known?.count ?? 0) + 1 });
  }
  return [...kinds.values()].map(({ text, count }) =>
    count === 1 ? text : `${text}; of this kind ${count} in ${results.length} ${noun}`,
  );
}

function pathWarnings({ path, devmem }: WarnedResult): string[] {
  const warnings: string[] = [];
  if (path.startsWith('shm')) warnings.push('shared memory: says nothing about a network');
  if (devmem?.verdict === 'unknown') warnings.push(`device memory: ${devmem.reason}`);
  return warnings;
}

function sampleWarnings(result: WarnedResult): string[] {
  const { iterations, bandwidthGBps, verified, bytesMoved } = result;
  const warnings: string[] = [];
  const measuredMs = (bytesMoved ?? Number.NaN) / bandwidthGBps.mean / 1e6;
  if (iterations < ITERATIONS_WANTED) {
    const count = plural(iterations, 'iteration');
    warnings.push(`${count}: p99 is the slowest of them, and little can be compared by them`);
  } else if (measuredMs < MEASURED_MS_MIN) {
    const ms = measuredMs.toPrecision(2);
    warnings.push(`all iterations together took ${ms} ms: -t 5 measures five seconds`);
  }
  const spread = bandwidthGBps.max / bandwidthGBps.min;
  if (spread > SPREAD_MAX) {
    warnings.push(`the fastest iteration was ${spread.toFixed(1)} times as fast as the slowest`);
  }
  if (verified.iterations === 0) warnings.push('no byte was checked');
  return warnings;
}

function machineWarnings({ laneCpus, load, host }: WarnedResult): string[] {
  const warnings = laneCpus.flatMap(({ cpu, pinnedTo }, lane) =>
    pinnedTo.length === 0 || pinnedTo.includes(cpu)
      ? []
      : [`lane ${lane} ran on CPU ${cpu}, not where it was put`],
  );
  if (load !== undefined && load.before > host.cores) {
    warnings.push(
      `others were at work: a load of ${load.before.toFixed(1)} on ${host.cores} cores`,
    );
  }
  const stolen = load?.stolen ?? 0;
  if (stolen > STOLEN_MAX) {
    const part = (100 * stolen).toFixed(0);
    warnings.push(`the hypervisor gave ${part} % of the CPU time to other machines`);
  }
  return warnings;
}

function versionWarnings({ host, peer }: WarnedResult): string[] {
  if (host.version === peer.version) return [];
  return [`not one version: ${host.version} here, ${peer.version} at the target`];
}

function channelWarnings({ kernel, zeroCopy }: WarnedResult): string[] {
  const lossy = (kernel?.channels ?? []).filter(({ retransmits }) => retransmits > 0);
  const warnings = lossy.map(
    ({ channel, retransmits }) =>
      `channel ${channel} retransmitted ${plural(retransmits, 'segment')}`,
  );
  const fallbacks = zeroCopy.reduce((sum, one) => sum + one.fallbacks, 0);
  if (fallbacks > 0) warnings.push(`${plural(fallbacks, 'send')} fell back from zero-copy`);
  return warnings;
}
