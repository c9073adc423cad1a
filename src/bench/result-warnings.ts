// What a reader of a result must know before believing it. Pure.

import { plural } from '../base/units.js';
import type { BenchResult, HostFacts } from './bench-result.js';

export type WarnedResult = Pick<
  BenchResult,
  | 'path'
  | 'iterations'
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

export function warningsOf(result: WarnedResult): string[] {
  return [
    ...pathWarnings(result),
    ...sampleWarnings(result),
    ...machineWarnings(result),
    ...versionWarnings(result),
    ...channelWarnings(result),
  ];
}

function pathWarnings({ path, devmem }: WarnedResult): string[] {
  const warnings: string[] = [];
  if (path.startsWith('shm')) warnings.push('shared memory: says nothing about a network');
  if (devmem?.verdict === 'unknown') warnings.push(`device memory: ${devmem.reason}`);
  return warnings;
}

function sampleWarnings({ iterations, bandwidthGBps, verified }: WarnedResult): string[] {
  const warnings: string[] = [];
  if (iterations < ITERATIONS_WANTED) {
    const count = plural(iterations, 'iteration');
    warnings.push(`${count}: p99 is the slowest of them, and little can be compared by them`);
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
