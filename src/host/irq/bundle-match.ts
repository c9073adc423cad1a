// Is a bundle of this host? Names, PCI addresses and interrupt lines are compared; machines of one
// type have the same addresses, so only a host name tells two of them apart. Pure.

import type { HostModel } from '../read/model.js';
import { normalisePciAddress } from '../read/pci.js';
import type { Observation } from './observation.js';

export interface BundleMatch {
  /** Facts that contradict: the bundle is of another machine, or of another boot. */
  readonly contradictions: readonly string[];
  /** Facts that agree; none means that nothing could be compared. */
  readonly agreements: readonly string[];
}

const SHOWN_MAX = 3;

export function matchBundle(observation: Observation, host: HostModel): BundleMatch {
  const contradictions: string[] = [];
  const agreements: string[] = [];
  const { hostname } = observation;
  if (hostname !== undefined && host.hostname !== undefined) {
    if (isSameHost(hostname, host.hostname)) agreements.push(`host name ${hostname}`);
    else contradictions.push(`it was taken on ${hostname}, this host is ${host.hostname}`);
  }
  const addresses = compareNicAddresses(observation, host);
  if (addresses.agreed.length > 0) {
    agreements.push(`PCI addresses of ${addresses.agreed.join(', ')}`);
  }
  contradictions.push(...addresses.differing);
  const lines = compareLines(observation, host);
  if (lines.agreedCount > 0) agreements.push(`${lines.agreedCount} interrupt lines`);
  contradictions.push(...shortened(lines.differing));
  return { contradictions, agreements };
}

// One tool prints the short name, another the full one.
function isSameHost(left: string, right: string): boolean {
  const short = (name: string) => name.split('.')[0]?.toLowerCase();
  return short(left) === short(right);
}

function compareNicAddresses(observation: Observation, host: HostModel) {
  const agreed: string[] = [];
  const differing: string[] = [];
  for (const [name, text] of observation.nicAddresses) {
    const own = host.nics.find((nic) => nic.name === name)?.pciAddress;
    const address = normalisePciAddress(text);
    if (own === undefined) continue;
    if (own === address) agreed.push(name);
    else differing.push(`${name} is ${address} there and ${own} here`);
  }
  return { agreed, differing };
}

function compareLines(observation: Observation, host: HostModel) {
  const nicOf = new Map(host.nics.flatMap((nic) => nic.vectors.map((v) => [v.irq, nic.name])));
  const irqs = new Map(host.irqs.map((irq) => [irq.irq, irq]));
  const differing: string[] = [];
  let agreedCount = 0;
  for (const [irq, nic] of nicOf) {
    const there = observation.lines.get(irq);
    const here = irqs.get(irq);
    if (there?.pciAddress === undefined || here?.pciAddress === undefined) continue;
    const isSame = there.pciAddress === here.pciAddress && there.vectorIndex === here.vectorIndex;
    if (isSame) agreedCount++;
    else differing.push(`IRQ ${irq} (${nic}) is vector ${placeText(there)} there`);
  }
  return { agreedCount, differing };
}

function placeText(line: {
  readonly pciAddress: string | undefined;
  readonly vectorIndex: number | undefined;
}): string {
  return `${line.vectorIndex ?? '?'} of ${line.pciAddress ?? '?'}`;
}

function shortened(lines: readonly string[]): string[] {
  const hidden = lines.length - SHOWN_MAX;
  return hidden > 0 ? [...lines.slice(0, SHOWN_MAX), `${hidden} more lines differ`] : [...lines];
}
