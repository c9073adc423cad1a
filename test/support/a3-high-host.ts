// The A3-high machine as a fixture: 208 CPUs on two nodes, SMT pairs c and c+104, eight GPUs, a
// control NIC and four 200 Gbit/s gVNICs with 33 vectors each, every pair of GPUs behind one
// switch with its NIC. Interrupts lie where the guest's boot script puts them.

import type { EthtoolData } from '../../src/host/read/ethtool-data.js';
import type { FileTree } from '../../src/host/read/file-tree.js';
import {
  type BridgeSpec,
  EMPTY_HOST,
  type GpuSpec,
  type HostSpec,
  type IrqSpec,
  type NicSpec,
} from './host-spec.js';
import { buildHostTree } from './host-tree.js';

const A3_HIGH_NODE_CPUS = ['0-51,104-155', '52-103,156-207'] as const;
const QUEUES = 16;
const BLOCKS = 2 * QUEUES;

interface A3Nic {
  readonly name: string;
  readonly address: string;
  readonly parent: string;
  readonly node: 0 | 1;
  readonly firstIrq: number;
  /** Queue q of both directions starts on this CPU + q. */
  readonly firstCpu: number;
}

export const A3_HIGH_NICS: readonly A3Nic[] = [
  nic('eth0', '0000:00:0c.0', 'pci0000:00', 0, 79, 1),
  nic('eth1', '0000:06:00.0', '0000:03:02.0', 0, 112, 17),
  nic('eth2', '0000:0c:00.0', '0000:09:02.0', 0, 145, 33),
  nic('eth3', '0000:86:00.0', '0000:83:02.0', 1, 178, 52),
  nic('eth4', '0000:8c:00.0', '0000:89:02.0', 1, 211, 68),
];

/** Root port, upstream port of the switch, first bus below it, devices' buses, node. */
const SWITCHES = [
  { root: '0000:00:10.0', host: 'pci0000:00', upstream: '0000:02:00.0', ports: '0000:03', node: 0 },
  { root: '0000:00:11.0', host: 'pci0000:00', upstream: '0000:08:00.0', ports: '0000:09', node: 0 },
  { root: '0000:80:10.0', host: 'pci0000:80', upstream: '0000:82:00.0', ports: '0000:83', node: 1 },
  { root: '0000:80:11.0', host: 'pci0000:80', upstream: '0000:88:00.0', ports: '0000:89', node: 1 },
] as const;

const GPU_ADDRESSES = [
  ['0000:04:00.0', '0000:05:00.0'],
  ['0000:0a:00.0', '0000:0b:00.0'],
  ['0000:84:00.0', '0000:85:00.0'],
  ['0000:8a:00.0', '0000:8b:00.0'],
] as const;

export function a3HighSpec(): HostSpec {
  return {
    ...EMPTY_HOST,
    hostname: 'a3-high-fixture',
    kernelRelease: '6.6.0-tcpx',
    cpuCount: 208,
    siblingStride: 104,
    nodes: A3_HIGH_NODE_CPUS.map((cpuList, id) => ({ id, cpuList, memoryKib: 990_000_000 })),
    bridges: SWITCHES.flatMap(switchBridges),
    nics: A3_HIGH_NICS.map(nicSpec),
    gpus: gpuSpecs(),
    otherIrqs: [
      otherIrq(0, 'timer', undefined, 0, false),
      otherIrq(4, 'ttyS0', undefined, 4, false),
      ...nvmeIrqs(),
    ],
  };
}

// Local disks, so that the table has the size of a real one; the kernel manages their queues.
function nvmeIrqs(): IrqSpec[] {
  return Array.from({ length: 53 }, (_, index) => {
    const disk = Math.floor(index / 4);
    const queue = index % 4;
    return otherIrq(
      26 + index,
      `nvme${disk}q${queue}`,
      `0000:7f:0${disk.toString(16)}.0`,
      queue,
      true,
    );
  });
}

export function a3HighTree(): FileTree {
  return buildHostTree(a3HighSpec());
}

function nic(
  name: string,
  address: string,
  parent: string,
  node: 0 | 1,
  firstIrq: number,
  firstCpu: number,
): A3Nic {
  return { name, address, parent, node, firstIrq, firstCpu };
}

function switchBridges(description: (typeof SWITCHES)[number]): BridgeSpec[] {
  const { root, host, upstream, ports, node } = description;
  const downstream = [0, 1, 2].map((port) => ({
    address: `${ports}:0${port}.0`,
    parent: upstream,
    node,
  }));
  return [
    { address: root, parent: host, node },
    { address: upstream, parent: root, node },
    ...downstream,
  ];
}

function nicSpec(facts: A3Nic, index: number): NicSpec {
  return {
    name: facts.name,
    driver: 'gve',
    address: facts.address,
    parent: facts.parent,
    node: facts.node,
    speedMbps: 200_000,
    mtu: index === 0 ? 1460 : 8244,
    macAddress: `42:01:0a:00:0${index}:02`,
    addresses: [{ family: 4, address: `10.0.${index}.2`, prefixLength: 32 }],
    rxQueueCount: QUEUES,
    txQueueCount: QUEUES,
    vectors: gveVectors(facts),
    ethtool: gveEthtool(facts, index),
  };
}

function gveVectors(facts: A3Nic): IrqSpec[] {
  const vectors: IrqSpec[] = [];
  for (let index = 0; index <= BLOCKS; index++) {
    const isManagement = index === BLOCKS;
    const cpu = facts.firstCpu + (index % QUEUES);
    vectors.push({
      irq: facts.firstIrq + index,
      name: `gve-${isManagement ? 'mgmnt' : `ntfy-blk${index}`}@pci:${facts.address}`,
      chip: 'PCI-MSIX',
      address: facts.address,
      vectorIndex: index,
      requested: isManagement ? A3_HIGH_NODE_CPUS[facts.node] : String(cpu),
      effective: String(isManagement ? facts.node * 52 : cpu),
      counts: isManagement ? {} : vectorCounts(index, cpu),
      isManaged: false,
    });
  }
  return vectors;
}

// RX queues 8-11 carry device memory and most of the load; 12-15 are idle.
function vectorCounts(index: number, cpu: number): Readonly<Record<number, number>> {
  const rxQueue = index - QUEUES;
  if (rxQueue >= 12) return {};
  return { [cpu]: rxQueue >= 8 ? 230_000 + rxQueue : 40_000 + index };
}

function gveEthtool(facts: A3Nic, index: number): EthtoolData {
  const statistics: Record<string, number> = {
    rx_packets: 33_000_000 + index,
    tx_packets: 5_850_000,
    rx_bytes: 265_000_000_000,
    tx_bytes: 256_000_000_000,
    rx_devmem_pkts: index === 0 ? 0 : 32_000_000,
    rx_devmem_dropped: 0,
    rx_packets_sph: 33_000_000,
    rx_packets_hbo: 0,
    reset_cnt: 0,
    interface_up_cnt: 1,
  };
  for (let queue = 0; queue < QUEUES; queue++) {
    statistics[`rx_bytes[${queue}]`] = queue >= 8 && queue < 12 ? 65_000_000_000 : 10_000_000;
    statistics[`tx_bytes[${queue}]`] = 16_000_000_000;
  }
  const none = { other: 0, combined: 0, combinedMax: 0 };
  return {
    source: 'capture',
    driver: { driver: 'gve', version: '1.0.0', firmwareVersion: '', busInfo: facts.address },
    link: { speedMbps: 200_000, duplex: 'full', isAutoNegotiated: false },
    channels: { ...none, rx: QUEUES, tx: QUEUES, rxMax: QUEUES, txMax: QUEUES },
    rings: { rx: 1024, tx: 1024, rxMax: 4096, txMax: 4096, tcpDataSplit: 'unknown' },
    coalesce: {
      rxUsecs: 20,
      rxFrames: 0,
      txUsecs: 50,
      txFrames: 0,
      isAdaptiveRx: false,
      isAdaptiveTx: false,
    },
    features: {
      'tx-tcp-segmentation': { isActive: true, isFixed: false },
      'rx-ntuple-filter': { isActive: index > 0, isFixed: false },
    },
    privateFlags: {
      'enable-header-split': index > 0,
      'enable-strict-header-split': index > 0,
      'enable-max-rx-buffer-size': index > 0,
      'report-stats': false,
    },
    statistics,
    gaps: [],
  };
}

function gpuSpecs(): GpuSpec[] {
  return GPU_ADDRESSES.flatMap((pair, pairIndex) =>
    pair.map((address, member): GpuSpec => {
      const index = pairIndex * 2 + member;
      const node = pairIndex < 2 ? 0 : 1;
      const firstIrq = 244 + index * 8;
      return {
        index,
        address,
        parent: `${SWITCHES[pairIndex]?.ports ?? ''}:0${member}.0`,
        node,
        name: 'NVIDIA H100 80GB HBM3',
        uuid: `GPU-00000000-0000-4000-8000-00000000000${index}`,
        irqs: Array.from({ length: 8 }, (_, vector) => ({
          ...otherIrq(firstIrq + vector, 'nvidia', address, vector, false),
          requested: A3_HIGH_NODE_CPUS[node],
        })),
      };
    }),
  );
}

function otherIrq(
  irq: number,
  name: string,
  address: string | undefined,
  vectorIndex: number,
  isManaged: boolean,
): IrqSpec {
  const chip = address === undefined ? 'IO-APIC' : 'PCI-MSIX';
  const place = { requested: '0-207', effective: '0', counts: { 0: 3 } };
  return { irq, name, chip, address, vectorIndex, isManaged, ...place };
}
