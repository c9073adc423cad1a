// Which NUMA node each NIC hangs on, and which CPUs that node has: what a lane needs to lie beside
// its NIC. Reads a handful of files, no whole host.

import { readCpuList, readNode } from './field-text.js';
import type { HostFiles } from './host-files.js';
import { pciPath } from './pci.js';

const NICS = '/sys/class/net';
const NODES = '/sys/devices/system/node';

export interface NicNodes {
  /** NICs whose node is known: not virtual ones, nor those to which the platform gives none. */
  readonly nodeOf: ReadonlyMap<string, number>;
  readonly cpusOf: ReadonlyMap<number, readonly number[]>;
}

const NOWHERE: NicNodes = { nodeOf: new Map(), cpusOf: new Map() };

/** Nothing on a host with one node: everything is near everything. */
export function readNicNodes(files: HostFiles, nics: readonly string[]): NicNodes {
  const nodes = readCpuList(files, `${NODES}/online`) ?? [];
  if (nodes.length < 2) return NOWHERE;
  const nodeOf = new Map<string, number>();
  for (const nic of nics) {
    const node = nodeOfNic(files, nic);
    if (node !== undefined && nodes.includes(node)) nodeOf.set(nic, node);
  }
  const cpusOf = new Map<number, readonly number[]>();
  for (const node of new Set(nodeOf.values())) {
    cpusOf.set(node, readCpuList(files, `${NODES}/node${node}/cpulist`) ?? []);
  }
  return { nodeOf, cpusOf };
}

/** Of the PCI device above it: between the two may lie another, as that of virtio. */
function nodeOfNic(files: HostFiles, nic: string): number | undefined {
  const real = files.realPath(`${NICS}/${nic}`) ?? '';
  // The first is the host bridge; without a device behind it there is no PCI device.
  const [, ...devices] = pciPath(real);
  const address = devices.at(-1);
  if (address === undefined) return undefined;
  const folder = real.slice(0, real.indexOf(`/${address}/`) + address.length + 1);
  return readNode(files, `${folder}/numa_node`);
}
