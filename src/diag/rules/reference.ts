// The first question: has a reference run on this host moved device-memory packets? If it has, the
// machine works, and a problem lies in how our run is set up.

import { matchBundle } from '../../host/irq/bundle-match.js';
import type { CounterGrowth, Observation } from '../../host/irq/observation.js';
import type { HostModel } from '../../host/read/model.js';
import { fail, pass, type Rule, skip, type Verdict } from '../rule.js';

export const referenceRule: Rule = {
  id: 'reference.devmem',
  area: 'reference',
  title: 'A reference run on this host moved device-memory packets',
  why:
    'The packet counter is the ground truth. Where NCCL moved device-memory packets over these ' +
    'NICs, kernel, driver, receive manager and flow steering are proven, and chasing them first ' +
    'wastes the day.',
  remedy:
    'Collect a bundle around an NCCL run (counters before and after) and name it with ' +
    '--reference. If that run moves no device-memory packets either, work through the system ' +
    'findings first.',
  proof: 'tcpx doctor --reference BUNDLE',
  check({ reference, host, dataNics }): Verdict {
    if (reference === undefined) return skip('no reference bundle was named (--reference BUNDLE)');
    const problem = bundleProblem(reference, host);
    if (problem !== undefined) return skip(`${reference.folder}: ${problem}`);
    const names = dataNics.map(({ name }) => name);
    const growths = names.map((nic) => [nic, reference.devmem.get(nic)] as const);
    const lines = growths.map(([nic, growth]) => growthLine(nic, growth));
    const { agreements } = matchBundle(reference, host);
    if (growths.some(([, growth]) => (growth?.grown ?? 0) > 0)) {
      const named = reference.hostname === undefined ? ['the bundle does not name its host'] : [];
      const text = `proven by ${reference.folder}; same as here: ${agreements.join(', ')}`;
      return pass(text, ...named, ...lines);
    }
    const isKnown = growths.length > 0 && growths.every(([, g]) => g?.grown !== undefined);
    if (!isKnown) return skip(`${reference.folder} does not tell whether packets moved`, ...lines);
    return fail(`the reference run in ${reference.folder} moved none`, ...lines);
  },
};

/** Why the bundle says nothing about this host; undefined when it does. */
function bundleProblem(reference: Observation, host: HostModel): string | undefined {
  const { contradictions, agreements } = matchBundle(reference, host);
  if (contradictions.length > 0) return `not of this host: ${contradictions.join('; ')}`;
  if (reference.isReversed) {
    return 'counters fall from before to after: wrong order, or a reboot in between';
  }
  if (reference.devmem.size === 0) return 'holds no rx_devmem_pkts before and after';
  const behind = countersBehind(reference, host);
  if (behind.length > 0) return `not of this boot of this host: ${behind.join('; ')}`;
  if (agreements.length > 0) return undefined;
  return 'nothing in it tells which host it is of; put its name into a file hostname.txt there';
}

// Counters only grow until a reboot: what the bundle saw last must have been reached here.
function countersBehind(reference: Observation, host: HostModel): string[] {
  return [...reference.devmem].flatMap(([name, { after }]) => {
    const nic = host.nics.find((candidate) => candidate.name === name);
    const now = nic?.ethtool?.statistics['rx_devmem_pkts'];
    if (after === undefined || now === undefined || now >= after) return [];
    return [`${name} rx_devmem_pkts was ${after} there and is ${now} here`];
  });
}

function growthLine(nic: string, growth: CounterGrowth | undefined): string {
  if (growth === undefined) return `${nic}: not in the bundle`;
  const { before, after, grown } = growth;
  if (grown !== undefined) return `${nic}: rx_devmem_pkts grew by ${grown}`;
  if (before === undefined) return `${nic}: no rx_devmem_pkts before the run`;
  if (after === undefined) return `${nic}: no rx_devmem_pkts after the run`;
  return `${nic}: rx_devmem_pkts was reset during the run (${before}, then ${after})`;
}
