// NVIDIA GPUs: found in the PCI tree, the driver's /proc folder and nvidia-smi, numbered by the
// latter where it answers. Keyed by PCI address, since index orders differ between tools.

import { parseWhole } from './field-text.js';
import type { HostFiles } from './host-files.js';
import type { Gpu, PciDevice } from './model.js';
import { comparePciAddresses, normalisePciAddress } from './pci.js';
import { GPU_QUERY_FIELDS } from './probes.js';

const NVIDIA_VENDOR = '10de';
const DRIVER_FOLDER = '/proc/driver/nvidia';

/** 3D and VGA controllers; NVSwitch bridges (0680) carry the same vendor and are none. */
export function isGpuDevice(device: PciDevice): boolean {
  return device.vendorId === NVIDIA_VENDOR && /^030[02]/.test(device.classCode);
}

export function readGpus(
  files: HostFiles,
  pci: readonly PciDevice[],
  nvidiaSmiText: string | undefined,
): Gpu[] {
  const queried = new Map(
    parseNvidiaSmi(nvidiaSmiText ?? '').map((row) => [row.pciAddress, row] as const),
  );
  const version = parseDriverVersion(files.read(`${DRIVER_FOLDER}/version`) ?? '');
  const addresses = new Set([
    ...pci.filter(isGpuDevice).map(({ address }) => address),
    ...files.list(`${DRIVER_FOLDER}/gpus`),
    ...queried.keys(),
  ]);
  const ordered = [...addresses].sort(comparePciAddresses);
  const gpus = ordered.map((pciAddress, position): Gpu => {
    const path = `${DRIVER_FOLDER}/gpus/${pciAddress}/information`;
    const facts = parseGpuInformation(files.read(path) ?? '');
    const row = queried.get(pciAddress);
    const device = pci.find(({ address }) => address === pciAddress);
    return {
      index: row?.index ?? position,
      indexSource: row === undefined ? 'pci order' : 'nvidia-smi',
      pciAddress,
      node: device?.node,
      localCpus: device?.localCpus,
      name: row?.name ?? facts['Model'],
      uuid: row?.uuid ?? facts['GPU UUID'],
      deviceMinor: parseWhole(facts['Device Minor']),
      memoryBytes: row?.memoryBytes,
      driverVersion: row?.driverVersion ?? version,
      irq: parseWhole(facts['IRQ']),
    };
  });
  return gpus.sort((a, b) => a.index - b.index);
}

/** `Model: \t\t NVIDIA H100` per line, padded with tabs and blanks. */
export function parseGpuInformation(text: string): Record<string, string> {
  const facts: Record<string, string> = {};
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) facts[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  return facts;
}

export function parseDriverVersion(text: string): string | undefined {
  return /^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s/m.exec(text)?.[1];
}

export interface GpuRow {
  readonly index: number;
  readonly pciAddress: string;
  readonly uuid: string;
  readonly name: string;
  readonly driverVersion: string;
  readonly memoryBytes: number | undefined;
  readonly isMig: boolean;
}

/** Rows of the GPU query; fields that a GPU lacks read `[N/A]` or `[Not Supported]`. */
export function parseNvidiaSmi(csv: string): GpuRow[] {
  const rows: GpuRow[] = [];
  for (const line of csv.split('\n')) {
    const cells = line.split(',').map((cell) => cell.trim());
    if (cells.length !== GPU_QUERY_FIELDS.length) continue;
    const cell = (field: (typeof GPU_QUERY_FIELDS)[number]) =>
      cells[GPU_QUERY_FIELDS.indexOf(field)] ?? '';
    const index = parseWhole(cell('index'));
    if (index === undefined) continue;
    const memoryMib = parseWhole(cell('memory.total'));
    rows.push({
      index,
      pciAddress: normalisePciAddress(cell('pci.bus_id')),
      uuid: cell('uuid'),
      name: cell('name'),
      driverVersion: cell('driver_version'),
      memoryBytes: memoryMib === undefined ? undefined : memoryMib * 1024 * 1024,
      isMig: cell('mig.mode.current') === 'Enabled',
    });
  }
  return rows;
}
