// Plain data of everything read from a host. Nothing here reads a file: the readers fill it, a
// captured machine gives the same shape, and it survives JSON. CPU sets are ascending lists of
// CPU numbers; `undefined` means "this host did not say", which is never the same as zero or none.

import type { EthtoolData } from './ethtool-data.js';
import type { IommuModel, IrqWriter, LimitsModel } from './host-settings.js';
import type { ReadGap } from './read-gap.js';

export interface HostModel {
  /** `/` for this machine, else the folder or archive that was read. */
  readonly root: string;
  readonly isLive: boolean;
  readonly hostname: string | undefined;
  readonly kernelRelease: string | undefined;
  readonly kernelArguments: string | undefined;
  readonly cpus: CpuModel;
  readonly nodes: readonly NumaNode[];
  readonly pci: readonly PciDevice[];
  /** Whether the list of PCI devices could be read, each with class and vendor. */
  readonly isPciComplete: boolean;
  readonly nics: readonly Nic[];
  readonly gpus: readonly Gpu[];
  readonly irqs: readonly Irq[];
  /** Mask given to interrupts that are requested later. */
  readonly irqDefaultAffinity: readonly number[] | undefined;
  readonly softirqs: SoftirqTable | undefined;
  readonly softnet: readonly SoftnetCpu[];
  /** `Tcp` and `TcpExt` counters of this network namespace, by the kernel's names. */
  readonly tcpCounters: Readonly<Record<string, number>>;
  /** Size of the global RFS table; RFS also needs a count per queue. */
  readonly rfsEntries: number | undefined;
  readonly writers: readonly IrqWriter[];
  /** Where writers may be that could not be looked at, for example the process table. */
  readonly unseenWriters: readonly string[];
  readonly iommu: IommuModel;
  readonly limits: LimitsModel;
  readonly gaps: readonly ReadGap[];
}

export interface CpuModel {
  readonly modelName: string | undefined;
  readonly possible: readonly number[];
  readonly present: readonly number[];
  /** Empty when nothing tells which are online. */
  readonly online: readonly number[];
  /** From `isolcpus=`; the scheduler keeps ordinary tasks away from these. */
  readonly isolated: readonly number[] | undefined;
  readonly nohzFull: readonly number[] | undefined;
  /** One per present CPU. */
  readonly cpus: readonly Cpu[];
  /** Caches of the first CPU of each socket: cores of one socket are alike. */
  readonly caches: readonly Cache[];
  /** Power settings of the first CPU of each socket. */
  readonly power: readonly CpuPower[];
}

export interface Cache {
  /** The CPU that was asked. */
  readonly cpu: number;
  readonly level: number;
  readonly type: 'Data' | 'Instruction' | 'Unified';
  readonly sizeBytes: number;
  /** CPUs that share it. */
  readonly cpus: readonly number[] | undefined;
}

export interface CpuPower {
  readonly cpu: number;
  /** undefined where the host has no frequency scaling, as most virtual machines. */
  readonly governor: string | undefined;
  readonly frequencyDriver: string | undefined;
  readonly idleStates: readonly IdleState[];
}

export interface IdleState {
  readonly name: string;
  readonly exitLatencyUs: number | undefined;
  readonly isEnabled: boolean | undefined;
}

export interface Cpu {
  readonly id: number;
  readonly isOnline: boolean;
  readonly node: number | undefined;
  readonly packageId: number | undefined;
  readonly coreId: number | undefined;
  /** Hardware threads of the same core, this CPU included, ascending; an offline CPU has none. */
  readonly siblings: readonly number[] | undefined;
}

export interface NumaNode {
  readonly id: number;
  /** Its own list, else the CPUs that devices of this node call local. */
  readonly cpus: readonly number[] | undefined;
  /** Relative cost to each online node, in node order; 10 is local. */
  readonly distances: readonly number[] | undefined;
  readonly memoryBytes: number | undefined;
}

export interface PciDevice {
  /** `0000:06:00.0`, four-digit domain. */
  readonly address: string;
  /** Host bridge first (`pci0000:00`), then each bridge, then the device itself. */
  readonly path: readonly string[];
  /** Six hex digits without prefix, as is `vendorId` with four. */
  readonly classCode: string;
  readonly vendorId: string;
  readonly deviceId: string;
  readonly driver: string | undefined;
  /** undefined where the platform gives none (-1). */
  readonly node: number | undefined;
  readonly localCpus: readonly number[] | undefined;
  readonly linkSpeedGTps: number | undefined;
  readonly linkWidth: number | undefined;
  readonly iommuGroup: number | undefined;
  /** Ascending, which is vector order. */
  readonly msiIrqs: readonly number[];
}

/** How far two PCI devices are apart, nearest first, in nvidia-smi's letters; `?` is unknown. */
export const PCI_DISTANCES = ['X', 'PIX', 'PXB', 'PHB', 'NODE', 'SYS', '?'] as const;
export type PciDistance = (typeof PCI_DISTANCES)[number];

export interface Nic {
  readonly name: string;
  readonly ifindex: number | undefined;
  readonly macAddress: string | undefined;
  /** No device behind it: loopback, veth, bridge. */
  readonly isVirtual: boolean;
  readonly driver: string | undefined;
  readonly pciAddress: string | undefined;
  readonly node: number | undefined;
  readonly localCpus: readonly number[] | undefined;
  readonly operState: string | undefined;
  readonly hasCarrier: boolean | undefined;
  readonly carrierChanges: number | undefined;
  /** undefined where the driver reports -1 or 0. */
  readonly speedMbps: number | undefined;
  readonly mtu: number | undefined;
  /** undefined when nobody told any address of this host. */
  readonly addresses: readonly NicAddress[] | undefined;
  /** Queues that exist in sysfs. */
  readonly rxQueueCount: number | undefined;
  readonly txQueueCount: number | undefined;
  readonly rxSteering: readonly RxQueueSteering[];
  readonly txSteering: readonly TxQueueSteering[];
  /** Threaded NAPI moves packet work to kernel threads: IRQ affinity then no longer places it. */
  readonly isThreadedNapi: boolean | undefined;
  readonly groFlushTimeoutNs: number | undefined;
  readonly napiDeferHardIrqs: number | undefined;
  /** The vectors of its PCI device, in vector order, each with what it serves. */
  readonly vectors: readonly NicVector[];
  /** 64-bit totals that the kernel keeps for every interface. */
  readonly statistics: Readonly<Record<string, number>>;
  readonly ethtool: EthtoolData | undefined;
}

export interface NicAddress {
  readonly family: 4 | 6;
  readonly address: string;
  readonly prefixLength: number;
}

export type VectorRole = 'rx' | 'tx' | 'rxtx' | 'management' | 'unused' | 'unknown';

/** Who says which queue a vector serves. */
export type VectorSource =
  | 'netlink napi-get'
  | 'gve rule'
  | 'virtio rule'
  | 'name pattern'
  | 'none';

export interface NicVector {
  readonly irq: number;
  /** Position among the device's vectors, from 0. */
  readonly index: number;
  /** Name that the driver gave, where one is registered. */
  readonly name: string | undefined;
  readonly role: VectorRole;
  /** Queue number for rx, tx and rxtx. */
  readonly queue: number | undefined;
  readonly source: VectorSource;
}

export interface RxQueueSteering {
  readonly queue: number;
  /** Empty = RPS off. */
  readonly rpsCpus: readonly number[] | undefined;
  readonly rfsFlowCount: number | undefined;
}

export interface TxQueueSteering {
  readonly queue: number;
  /** undefined = the kernel offers no XPS here (one TX queue, or virtual). */
  readonly xpsCpus: readonly number[] | undefined;
  readonly xpsRxQueues: readonly number[] | undefined;
}

export interface Gpu {
  /** nvidia-smi's index where it answered, else the position in PCI order. */
  readonly index: number;
  readonly indexSource: 'nvidia-smi' | 'pci order';
  readonly pciAddress: string;
  readonly node: number | undefined;
  readonly localCpus: readonly number[] | undefined;
  readonly name: string | undefined;
  readonly uuid: string | undefined;
  readonly deviceMinor: number | undefined;
  readonly memoryBytes: number | undefined;
  readonly driverVersion: string | undefined;
  readonly irq: number | undefined;
}

export interface Irq {
  readonly irq: number;
  readonly chip: string;
  /** As the kernel prints it, for example `5-edge`. */
  readonly hwirq: string;
  /** What drivers registered; undefined when the table has no such row. */
  readonly actions: readonly string[] | undefined;
  readonly pciAddress: string | undefined;
  /** Index among the device's MSI vectors. */
  readonly vectorIndex: number | undefined;
  /** Interrupts so far, by CPU number, zeros left out; undefined when the table has no such row. */
  readonly countByCpu: Readonly<Record<number, number>> | undefined;
  /** What smp_affinity holds; with a change pending this is already the new value. */
  readonly requested: readonly number[] | undefined;
  /** Where the hardware delivers now. */
  readonly effective: readonly number[] | undefined;
  /** The driver's wish; empty when it has none. */
  readonly hint: readonly number[] | undefined;
  readonly node: number | undefined;
  /** false = the file has no write bit: the kernel manages this one. */
  readonly isWritable: boolean | undefined;
}

export interface SoftirqTable {
  /** CPU of each column. */
  readonly cpus: readonly number[];
  readonly rows: Readonly<Record<string, readonly number[]>>;
}

export interface SoftnetCpu {
  readonly cpu: number;
  readonly processed: number;
  readonly dropped: number;
  readonly timeSqueeze: number;
  readonly receivedRps: number;
  readonly flowLimitCount: number;
  readonly backlogLength: number | undefined;
}
