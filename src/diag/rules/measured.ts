// Rules over what `tcpx doctor --measure` timed on this machine.

import type { CongestionFigure, PairFigures, Samples } from '../../measure/machine-limits.js';
import { pass, type Rule, skip, type Verdict, warn } from '../rule.js';

/** Below this share of the best, pacing costs more than noise explains. */
const PACED_SHARE_MAX = 0.85;
/** A word between two cores takes tens to hundreds of ns; a time slice takes thousands. */
const TRIP_NS_MAX = 2_000;

const NOT_MEASURED = 'not measured; --measure takes some seconds and both loopback and cores';

export const pacingRule: Rule = {
  id: 'measure.pacing',
  area: 'system',
  title: 'Congestion control does not pace streams between near hosts',
  why:
    'BBR sends by a timer at the rate that it believes the path to have. Between hosts a few ' +
    'hundred microseconds apart its timers and its estimate cost more than they save, and a ' +
    'connection that began with it stays paced whatever it is told later.',
  remedy:
    'Data sockets of ours leave BBR for near peers by themselves, unless --congestion says ' +
    'otherwise; for other programs set net.ipv4.tcp_congestion_control=cubic, on both ends.',
  proof: 'tcpx doctor --measure',
  check({ measured, host, congestion }): Verdict {
    if (measured === undefined) return skip(NOT_MEASURED);
    const used = (congestion ?? '') === '' ? host.limits.congestionControl : congestion;
    if (used === undefined) return skip('the congestion control in use is not known');
    const own = measured.congestion.find(({ name }) => name === used);
    const rate = own?.streamGBps;
    if (rate === undefined)
      return skip(`${used} was not measured: ${own?.reason ?? 'not offered'}`);
    const lines = measured.congestion.map(congestionText);
    const known = measured.congestion
      .map((one) => one.streamGBps)
      .filter((one) => one !== undefined);
    const best = Math.max(...known.map(({ median }) => median));
    const share = rate.median / best;
    const role = used === congestion ? 'in use' : 'the host’s default';
    const text = `${used}, ${role}, carries ${(share * 100).toFixed(0)} % of the best`;
    const isPaced = used.startsWith('bbr');
    // Its best round below the others' middle one: noise alone does not do that.
    if (share > PACED_SHARE_MAX || rate.max >= best) return pass(text, ...lines);
    const cause = isPaced ? ': its pacing limits streams between near hosts' : '';
    return warn(`${text}${cause}`, ...lines);
  },
};

function congestionText({ name, streamGBps, rttUs, reason }: CongestionFigure): string {
  if (streamGBps === undefined || rttUs === undefined) return `${name}: ${reason ?? 'unknown'}`;
  const figure = `${formatSamples(streamGBps, 2)} GB/s over loopback`;
  return `${name}: ${figure}, round trip ${rttUs.median.toFixed(0)} µs`;
}

export const coresRule: Rule = {
  id: 'measure.cores',
  area: 'system',
  title: 'Threads that work together have cores of their own',
  why:
    'A thread that looks for work without sleeping (lane.spinUs, plugin workers) and its partner ' +
    'on one CPU wait for each other’s time slices: milliseconds instead of nanoseconds.',
  remedy:
    'Give the process more CPUs (taskset, cpuset, the container’s limit), or bind lanes apart ' +
    'with --bindings; with one CPU use --progress caller.',
  proof: 'tcpx doctor --measure',
  check({ measured }): Verdict {
    if (measured === undefined) return skip(NOT_MEASURED);
    const lines = measured.pairs.map(pairText);
    const apart = measured.pairs.filter(({ place }) => place !== 'one CPU');
    if (apart.length === 0) {
      const count = measured.allowedCpus.length;
      return warn(`this process may use ${count} CPU: all threads are packed on it`, ...lines);
    }
    const slow = apart.filter(({ tripNs }) => tripNs.median > TRIP_NS_MAX);
    if (slow.length === 0) return pass(...lines);
    const names = slow.map(({ first, second }) => `${first} and ${second}`).join(', ');
    return warn(
      `CPUs ${names} answer each other in time slices: something else runs there`,
      ...lines,
    );
  },
};

function pairText({ place, first, second, tripNs, wakeUs, streamGBps }: PairFigures): string {
  const cpus = first === second ? `CPU ${first}` : `CPUs ${first} and ${second}`;
  const where = place === 'unknown' ? 'place unknown' : place;
  return (
    `${cpus} (${where}): word ${formatNs(tripNs)}, wake-up ${formatSamples(wakeUs, 1)} µs, ` +
    `stream ${formatSamples(streamGBps, 2)} GB/s`
  );
}

function formatNs({ median }: Samples): string {
  return median < 10_000 ? `${median.toFixed(0)} ns` : `${(median / 1e6).toFixed(2)} ms`;
}

function formatSamples({ median, min, max }: Samples, digits: number): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} … ${max.toFixed(digits)})`;
}
