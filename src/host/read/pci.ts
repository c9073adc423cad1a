// The PCI tree: devices with the chain of bridges above them, and how far two are apart.

import { parseWhole, readCpuList, readLine, readLinkName, readNode } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { PciDevice, PciDistance } from './model.js';

const DEVICES = '/sys/bus/pci/devices';
const NICS = '/sys/class/net';
const ADDRESS = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

export function readPci(files: HostFiles): PciDevice[] {
  const folders = new Map<string, string>();
  for (const address of files.list(DEVICES)) {
    const folder = files.realPath(`${DEVICES}/${address}`);
    if (folder !== undefined && ADDRESS.test(address)) folders.set(address, folder);
  }
  for (const [address, folder] of nicDevices(files)) {
    if (!folders.has(address)) folders.set(address, folder);
  }
  return [...folders]
    .sort(([a], [b]) => comparePciAddresses(a, b))
    .map(([address, folder]) => readPciDevice(files, folder, address));
}

/** Devices of interfaces by the interfaces' own place: the list of the bus may lack them. */
function nicDevices(files: HostFiles): [string, string][] {
  return files.list(NICS).flatMap((name): [string, string][] => {
    const real = files.realPath(`${NICS}/${name}`) ?? '';
    const address = pciPath(real).at(-1);
    if (address === undefined || !ADDRESS.test(address)) return [];
    return [[address, real.slice(0, real.indexOf(`/${address}/`) + address.length + 1)]];
  });
}

/** Without class and vendor a device may be anything, also a GPU. */
export function isPciComplete(files: HostFiles, pci: readonly PciDevice[]): boolean {
  const isListed = files.isFolder(DEVICES);
  return isListed && pci.every(({ classCode, vendorId }) => classCode !== '' && vendorId !== '');
}

function readPciDevice(files: HostFiles, folder: string, address: string): PciDevice {
  const hex = (name: string) => (readLine(files, `${folder}/${name}`) ?? '').replace(/^0x/, '');
  return {
    address,
    path: pciPath(folder),
    classCode: hex('class'),
    vendorId: hex('vendor'),
    deviceId: hex('device'),
    driver: readLinkName(files, `${folder}/driver`),
    node: readNode(files, `${folder}/numa_node`),
    localCpus: readCpuList(files, `${folder}/local_cpulist`),
    linkSpeedGTps: parseLinkSpeed(readLine(files, `${folder}/current_link_speed`)),
    linkWidth: parseLinkWidth(readLine(files, `${folder}/current_link_width`)),
    iommuGroup: parseWhole(readLinkName(files, `${folder}/iommu_group`)),
    msiIrqs: readMsiIrqs(files, folder),
  };
}

/** `/sys/devices/pci0000:00/0000:00:10.0/0000:06:00.0/…` → host bridge, bridges, device. */
export function pciPath(folder: string): string[] {
  const names = folder.split('/');
  const start = names.findIndex((name) => /^pci[0-9a-f]{4,8}:[0-9a-f]{2}$/.test(name));
  if (start < 0) return [];
  const end = names.findIndex((name, index) => index > start && !ADDRESS.test(name));
  return names.slice(start, end < 0 ? undefined : end);
}

/** Numeric order of the names is vector order; the folder's own order is not. */
function readMsiIrqs(files: HostFiles, folder: string): number[] {
  const names = files.list(`${folder}/msi_irqs`).filter((name) => /^\d+$/.test(name));
  return names.map(Number).sort((a, b) => a - b);
}

export function parseLinkSpeed(text: string | undefined): number | undefined {
  const speed = /^([\d.]+) GT\/s/.exec(text ?? '')?.[1];
  return speed === undefined ? undefined : Number(speed);
}

// Devices of a hypervisor report a width of 0 or 255, meaning nothing.
function parseLinkWidth(text: string | undefined): number | undefined {
  const width = parseWhole(text);
  return width === undefined || width < 1 || width > 32 ? undefined : width;
}

export interface PciPlace {
  readonly path: readonly string[];
  readonly node: number | undefined;
}

/**
 * Distance in nvidia-smi's letters. PIX: one switch between them (its upstream port is common, at
 * most a downstream port on either side); PXB: more bridges, still below one root port; PHB: they
 * meet in the host bridge; NODE, SYS: they meet beyond it, on one node or across nodes. A device
 * whose place is not known, and nodes that are not known on a host with several, give `?`.
 */
export function pciDistance(a: PciPlace, b: PciPlace, nodeCount: number): PciDistance {
  const common = commonLength(a.path, b.path);
  if (common === a.path.length && common === b.path.length && common > 0) return 'X';
  if (common >= 2) {
    const deepest = Math.max(a.path.length - common, b.path.length - common);
    return deepest <= 2 ? 'PIX' : 'PXB';
  }
  if (common === 1) return 'PHB';
  if (a.path.length === 0 || b.path.length === 0) return '?';
  if (a.node !== undefined && b.node !== undefined) return a.node === b.node ? 'NODE' : 'SYS';
  return nodeCount === 1 ? 'NODE' : '?';
}

/** The switch or bridge in which two devices meet; undefined when they meet above PCI. */
export function commonBridge(a: PciPlace, b: PciPlace): string | undefined {
  const common = commonLength(a.path, b.path);
  return common === 0 ? undefined : a.path[common - 1];
}

function commonLength(a: readonly string[], b: readonly string[]): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}

/** The order of PCI numbers: they are hexadecimal, so 0a comes after 04. */
export function comparePciAddresses(a: string, b: string): number {
  // Longer domains are larger; within one length letters come after digits.
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Four-digit domain, lower case: nvidia-smi writes `00000000:04:00.0`, sysfs `0000:04:00.0`. */
export function normalisePciAddress(text: string): string {
  const match = /^([0-9a-f]+):([0-9a-f]{2}):([0-9a-f]{2}\.[0-7])$/i.exec(text.trim());
  if (match === null) return text.trim().toLowerCase();
  const domain = Number.parseInt(match[1] ?? '0', 16)
    .toString(16)
    .padStart(4, '0');
  return `${domain}:${match[2] ?? ''}:${match[3] ?? ''}`.toLowerCase();
}
