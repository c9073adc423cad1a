// `tcpx doctor --measure`: what limits this machine, timed, and as text for people.

import { TcpxError } from '../base/errors.js';
import { choosePairs } from '../diag/measured-pairs.js';
import type { HostModel } from '../host/read/model.js';
import {
  allowedCpus,
  type MachineLimits,
  measureLimits,
  type Samples,
} from '../measure/machine-limits.js';
import { formatMachine } from '../measure/machine-state.js';
import { clearProgress, formatTable, showProgress } from './print.js';

const ROUNDS = 3;

export async function measureHost(host: HostModel): Promise<MachineLimits> {
  if (!host.isLive) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `doctor --measure times this machine; ${host.root} is only files of one`,
    );
  }
  const { congestionAvailable, congestionControl } = host.limits;
  try {
    return await measureLimits({
      pairs: choosePairs(host.cpus, allowedCpus()),
      congestion: congestionAvailable,
      // Unpaced where the kernel has it, so that pairs differ by their places alone.
      pairCongestion: congestionAvailable.includes('cubic') ? 'cubic' : (congestionControl ?? ''),
      rounds: ROUNDS,
      onProgress: (text) => showProgress(`measuring: ${text}`),
    });
  } finally {
    clearProgress();
  }
}

export function formatLimits(limits: MachineLimits): string {
  const pairs = limits.pairs.map(({ place, first, second, tripNs, wakeUs, streamGBps }) => [
    first === second ? String(first) : `${first} and ${second}`,
    place,
    tripNs.median < 10_000
      ? `${tripNs.median.toFixed(0)} ns`
      : `${(tripNs.median / 1e6).toFixed(2)} ms`,
    samplesText(wakeUs, 1),
    samplesText(streamGBps, 2),
  ]);
  const streams = limits.congestion.map(({ name, streamGBps, rttUs, reason }) => [
    name,
    streamGBps === undefined ? (reason ?? '?') : samplesText(streamGBps, 2),
    rttUs === undefined ? '?' : rttUs.median.toFixed(0),
  ]);
  const pairHeading = ['CPUs', 'place', 'word, one way', 'wake-up µs', 'stream GB/s'];
  return (
    `measured on this machine, ${limits.allowedCpus.length} CPUs, median (min … max) of ` +
    `${ROUNDS} rounds\n${formatMachine([limits.machine])}\n\n` +
    `${formatTable([pairHeading, ...pairs])}\n` +
    `${formatTable([['congestion control', 'loopback GB/s', 'round trip µs'], ...streams])}\n`
  );
}

function samplesText({ median, min, max }: Samples, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} … ${max.toFixed(digits)})`;
}
