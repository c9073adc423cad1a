// The first question: has a reference run on this host moved device-memory packets? If it has, the
// machine works, and a problem lies in how our run is set up.

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
  check(facts): Verdict {
    const { reference } = facts;
    if (reference === undefined) return skip('no reference bundle was given or found');
    if (reference.devmemPackets.size === 0) {
      return skip(`${reference.folder} has no rx_devmem_pkts before and after`);
    }
    const moved = [...reference.devmemPackets].filter(([, packets]) => packets > 0);
    const lines = [...reference.devmemPackets].map(([nic, packets]) => {
      return `${nic}: rx_devmem_pkts grew by ${packets}`;
    });
    if (moved.length > 0) return pass(`proven by ${reference.folder}`, ...lines);
    return fail(`the reference run in ${reference.folder} moved none`, ...lines);
  },
};
