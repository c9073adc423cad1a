// A flat bundle as a tree of /proc and /sys, so that every reader works on it. Only what the bundle
// says is in the tree; what it does not say is absent and so unknown. Devices lie in a folder of
// their own, because no plain file tells the bridges above them.

import { formatCpuList } from '../../base/cpu-set.js';
import { CAPTURE_FOLDER, type FileTree, relativeLink, type TreeEntry } from '../read/file-tree.js';
import type { HostFiles } from '../read/host-files.js';
import { type InterruptTable, parseInterrupts } from '../read/interrupts.js';
import { UNPLACED_FOLDER } from '../read/pci.js';
import { CAPTURE_PATHS } from '../read/probes.js';
import type { ReadGap } from '../read/read-gap.js';
import { inferSockets } from './lscpu-sockets.js';
import { inferSiblings, type LscpuFacts } from './lscpu-text.js';
import type { NicInfo } from './nic-info-text.js';

export interface FlatFacts {
  readonly hostname: string | undefined;
  readonly kernelRelease: string | undefined;
  /** When the counters were read. */
  readonly timeMs: number | undefined;
  readonly interrupts: string | undefined;
  readonly affinity: ReadonlyMap<number, readonly number[]> | undefined;
  readonly cpus: LscpuFacts | undefined;
  readonly nics: readonly NicInfo[];
  readonly environment: string | undefined;
  readonly nvidiaSmi: string | undefined;
}

export interface FlatTree {
  readonly tree: FileTree;
  readonly gaps: readonly ReadGap[];
}

/** Where the environment of a run lies in the tree. */
export const FLAT_ENVIRONMENT_PATH = `${CAPTURE_FOLDER}/environment.txt`;

const FLAT_SCHEMA = 'tcpx.flat/1';

/** Whether the files are those of a bundle: nothing in them comes from this machine. */
export function isFlatHost(files: Pick<HostFiles, 'read'>): boolean {
  return files.read(CAPTURE_PATHS.manifest)?.includes(FLAT_SCHEMA) === true;
}

export function buildFlatTree(facts: FlatFacts): FlatTree {
  const tree = new Map<string, TreeEntry>();
  const gaps: ReadGap[] = [];
  const file = (path: string, text: string | number) =>
    tree.set(path, { kind: 'file', text: `${text}\n` });
  const table = parseInterrupts(facts.interrupts ?? '');
  const capturedAt = facts.timeMs === undefined ? undefined : new Date(facts.timeMs).toISOString();
  file(CAPTURE_PATHS.manifest, JSON.stringify({ schema: FLAT_SCHEMA, capturedAt }));
  if (facts.hostname !== undefined) file('/proc/sys/kernel/hostname', facts.hostname);
  if (facts.kernelRelease !== undefined) file('/proc/sys/kernel/osrelease', facts.kernelRelease);
  if (facts.interrupts !== undefined) file('/proc/interrupts', facts.interrupts);
  if (facts.environment !== undefined) file(FLAT_ENVIRONMENT_PATH, facts.environment);
  if (facts.nvidiaSmi !== undefined) file(CAPTURE_PATHS.nvidiaSmi, facts.nvidiaSmi);
  for (const [irq, cpus] of facts.affinity ?? []) {
    file(`/proc/irq/${irq}/smp_affinity_list`, formatCpuList(cpus));
  }
  addCpus(facts.cpus, table, file, gaps);
  addDevices(facts.nics, table, tree, file);
  for (const nic of facts.nics) addNic(nic, tree, file, gaps);
  return { tree, gaps };
}

type AddFile = (path: string, text: string | number) => void;

const CPU_FOLDER = '/sys/devices/system/cpu';
const NODE_FOLDER = '/sys/devices/system/node';

function addCpus(
  cpus: LscpuFacts | undefined,
  table: InterruptTable,
  file: AddFile,
  gaps: ReadGap[],
): void {
  // The table has a column per online CPU, so it tells them as well.
  const online = cpus?.online ?? (table.cpus.length > 0 ? table.cpus : undefined);
  if (online === undefined) return;
  file(`${CPU_FOLDER}/online`, formatCpuList(online));
  if (cpus === undefined) return;
  file(`${CPU_FOLDER}/present`, formatCpuList([...online, ...cpus.offline].sort((a, b) => a - b)));
  if (cpus.modelName !== undefined) file('/proc/cpuinfo', `model name\t: ${cpus.modelName}`);
  if (cpus.nodes.length > 0) {
    file(`${NODE_FOLDER}/online`, formatCpuList(cpus.nodes.map(({ id }) => id)));
  }
  for (const { id, cpus: own } of cpus.nodes) {
    file(`${NODE_FOLDER}/node${id}/cpulist`, formatCpuList(own));
  }
  addSockets(cpus, file, gaps);
  const inferred = inferSiblings(cpus);
  const path = 'hardware threads of a core';
  if (inferred === undefined) {
    gaps.push({ path, reason: 'not in the bundle' });
    return;
  }
  if (cpus.threadsPerCore !== 1) gaps.push({ path, reason: inferred.reason });
  for (const [cpu, siblings] of inferred.siblingsOf) {
    file(`${CPU_FOLDER}/cpu${cpu}/topology/thread_siblings_list`, formatCpuList(siblings));
  }
}

/** Sockets, and the caches of the first CPU of each, which is where readers look for them. */
function addSockets(cpus: LscpuFacts, file: AddFile, gaps: ReadGap[]): void {
  const sockets = inferSockets(cpus);
  const path = 'sockets of CPUs';
  if (sockets === undefined) {
    gaps.push({ path, reason: 'not in the bundle' });
    return;
  }
  if (sockets.length > 1) {
    const reason = 'lscpu tells how many: as many as nodes, each as large, so each node is one';
    gaps.push({ path, reason });
  }
  for (const [id, own] of sockets.entries()) {
    for (const cpu of own) file(`${CPU_FOLDER}/cpu${cpu}/topology/physical_package_id`, id);
    for (const [index, cache] of cpus.caches.entries()) {
      const folder = `${CPU_FOLDER}/cpu${own[0] ?? 0}/cache/index${index}`;
      file(`${folder}/level`, cache.level);
      file(`${folder}/type`, cache.type);
      file(`${folder}/size`, `${cache.sizeKib}K`);
      const isOfSocket = cache.instances === sockets.length;
      if (isOfSocket) file(`${folder}/shared_cpu_list`, formatCpuList(own));
    }
  }
}

function deviceFolder(address: string): string {
  return `${UNPLACED_FOLDER}/${address}`;
}

/** Devices that a NIC's section or a row of the interrupt table names. */
function addDevices(
  nics: readonly NicInfo[],
  table: InterruptTable,
  tree: Map<string, TreeEntry>,
  file: AddFile,
): void {
  const addresses = new Set(nics.flatMap(({ pciAddress }) => pciAddress ?? []));
  for (const row of table.rows) {
    const address = row.pciAddress;
    if (address === undefined || row.irq === undefined) continue;
    addresses.add(address);
    file(`${deviceFolder(address)}/msi_irqs/${row.irq}`, '');
    // Of all drivers only the GPU's names its lines by its own name alone.
    if (row.actions[0] === 'nvidia') addDriver(tree, address, 'nvidia');
  }
  for (const address of addresses) {
    const place = deviceFolder(address);
    tree.set(place, { kind: 'folder' });
    link(tree, `/sys/bus/pci/devices/${address}`, place);
  }
}

function addDriver(tree: Map<string, TreeEntry>, address: string, driver: string): void {
  const place = `/sys/bus/pci/drivers/${driver}`;
  tree.set(place, { kind: 'folder' });
  link(tree, `${deviceFolder(address)}/driver`, place);
}

function link(tree: Map<string, TreeEntry>, path: string, target: string): void {
  const folder = path.slice(0, path.lastIndexOf('/'));
  tree.set(path, { kind: 'link', target: relativeLink(folder, target) });
}

function addNic(nic: NicInfo, tree: Map<string, TreeEntry>, file: AddFile, gaps: ReadGap[]): void {
  file(CAPTURE_PATHS.ethtool(nic.name), JSON.stringify(nic.ethtool));
  const { pciAddress } = nic;
  const device =
    pciAddress === undefined ? `/sys/devices/untold/${nic.name}` : deviceFolder(pciAddress);
  const folder = `${device}/net/${nic.name}`;
  link(tree, `/sys/class/net/${nic.name}`, folder);
  // Known to be there, its number is not: as in a capture, the file is empty.
  tree.set(`${folder}/ifindex`, { kind: 'file', text: '' });
  // A section about a NIC comes from its driver: it is a device, also where its address is missing.
  link(tree, `${folder}/device`, device);
  tree.set(device, { kind: 'folder' });
  if (pciAddress === undefined) {
    gaps.push({ path: `nic ${nic.name}`, reason: 'its PCI address is not in the bundle' });
  } else if (nic.ethtool.driver !== undefined)
    addDriver(tree, pciAddress, nic.ethtool.driver.driver);
  if (nic.node !== undefined) file(`${device}/numa_node`, nic.node);
  if (nic.speedMbps !== undefined) file(`${folder}/speed`, nic.speedMbps);
  if (nic.hasCarrier !== undefined) file(`${folder}/carrier`, nic.hasCarrier ? 1 : 0);
  if (nic.mtu !== undefined) file(`${folder}/mtu`, nic.mtu);
}
