// A made-up host in a few lines: what the fixture trees are generated from. A test copies a spec
// and changes the one thing it is about.

import type { EthtoolData } from '../../src/host/read/ethtool-data.js';
import type { NicAddress } from '../../src/host/read/model.js';

export interface HostSpec {
  readonly hostname: string;
  readonly kernelRelease: string;
  readonly kernelArguments: string;
  readonly cpuCount: number;
  readonly offlineCpus: readonly number[];
  /** CPU c and c + stride share a core; 0 = no hardware threads. */
  readonly siblingStride: number;
  /** Empty = a kernel without NUMA. */
  readonly nodes: readonly NodeSpec[];
  /** Bridges between the host bridges and the devices, parents before children. */
  readonly bridges: readonly BridgeSpec[];
  readonly nics: readonly NicSpec[];
  readonly gpus: readonly GpuSpec[];
  readonly otherIrqs: readonly IrqSpec[];
  /** Up to about 6.2 the table shows one encoded number instead of address and vector. */
  readonly irqTableStyle: 'address' | 'encoded';
  /** A container often hides /proc/irq. */
  readonly hasProcIrq: boolean;
  readonly processes: readonly ProcessSpec[];
}

export interface NodeSpec {
  readonly id: number;
  readonly cpuList: string;
  readonly memoryKib: number;
}

export interface BridgeSpec {
  readonly address: string;
  /** Address of the bridge above, or a host bridge such as `pci0000:00`. */
  readonly parent: string;
  readonly node: number;
}

export interface NicSpec {
  readonly name: string;
  readonly driver: 'gve' | 'virtio_net' | 'veth';
  /** undefined for a virtual interface. */
  readonly address: string | undefined;
  readonly parent: string;
  readonly node: number;
  readonly speedMbps: number;
  readonly mtu: number;
  readonly macAddress: string;
  readonly addresses: readonly NicAddress[];
  readonly rxQueueCount: number;
  readonly txQueueCount: number;
  readonly vectors: readonly IrqSpec[];
  readonly ethtool: EthtoolData | undefined;
}

export interface GpuSpec {
  readonly index: number;
  readonly address: string;
  readonly parent: string;
  readonly node: number;
  readonly name: string;
  readonly uuid: string;
  readonly irqs: readonly IrqSpec[];
}

export interface IrqSpec {
  readonly irq: number;
  readonly name: string;
  readonly chip: 'IO-APIC' | 'PCI-MSIX';
  readonly address: string | undefined;
  readonly vectorIndex: number;
  /** CPU list that was asked for. */
  readonly requested: string;
  readonly effective: string;
  /** Counts by CPU. */
  readonly counts: Readonly<Record<number, number>>;
  readonly isManaged: boolean;
}

export interface ProcessSpec {
  readonly pid: number;
  readonly comm: string;
  readonly cmdline: readonly string[];
}

export const EMPTY_HOST: HostSpec = {
  hostname: 'fixture',
  kernelRelease: '6.12.0',
  kernelArguments: 'BOOT_IMAGE=/vmlinuz ro',
  cpuCount: 2,
  offlineCpus: [],
  siblingStride: 0,
  nodes: [{ id: 0, cpuList: '0-1', memoryKib: 4194304 }],
  bridges: [],
  nics: [],
  gpus: [],
  otherIrqs: [],
  irqTableStyle: 'address',
  hasProcIrq: true,
  processes: [{ pid: 1, comm: 'systemd', cmdline: ['/sbin/init'] }],
};

export function onlineCpus(spec: HostSpec): number[] {
  const all = Array.from({ length: spec.cpuCount }, (_, cpu) => cpu);
  return all.filter((cpu) => !spec.offlineCpus.includes(cpu));
}

export function allIrqs(spec: HostSpec): IrqSpec[] {
  const irqs = [...spec.otherIrqs];
  for (const nic of spec.nics) irqs.push(...nic.vectors);
  for (const gpu of spec.gpus) irqs.push(...gpu.irqs);
  return irqs.sort((a, b) => a.irq - b.irq);
}
