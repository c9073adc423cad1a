// A host of a few hundred files with everything that matters in it: two nodes, hardware threads,
// two gVNICs behind switches with a GPU each. Small enough to be read once for every file missing.

import type { EthtoolData } from '../../src/host/read/ethtool-data.js';
import { a3HighSpec } from './a3-high-host.js';
import {
  EMPTY_HOST,
  type GpuSpec,
  type HostSpec,
  type IrqSpec,
  type NicSpec,
} from './host-spec.js';

const NODE_CPUS = ['0-1,4-5', '2-3,6-7'] as const;
const QUEUES = 2;

interface SmallNic {
  readonly name: string;
  readonly node: 0 | 1;
  readonly bus: string;
  readonly firstIrq: number;
  /** CPUs of the two queues. */
  readonly cpus: readonly [number, number];
}

const NICS: readonly SmallNic[] = [
  { name: 'eth1', node: 0, bus: '00', firstIrq: 40, cpus: [1, 5] },
  { name: 'eth2', node: 1, bus: '80', firstIrq: 50, cpus: [3, 7] },
];

export const SMALL_HOST_NICS: readonly string[] = NICS.map(({ name }) => name);

export function smallHostSpec(): HostSpec {
  return {
    ...EMPTY_HOST,
    hostname: 'small-fixture',
    kernelRelease: '6.6.0-tcpx',
    cpuCount: 8,
    siblingStride: 4,
    nodes: NODE_CPUS.map((cpuList, id) => ({ id, cpuList, memoryKib: 1_048_576 })),
    bridges: NICS.flatMap(({ bus, node }) => [
      { address: `0000:${bus}:10.0`, parent: `pci0000:${bus}`, node },
      { address: `0000:${below(bus, 1)}:00.0`, parent: `0000:${bus}:10.0`, node },
    ]),
    nics: NICS.map(nicSpec),
    gpus: NICS.map(gpuSpec),
  };
}

function below(bus: string, level: number): string {
  return (Number.parseInt(bus, 16) + level).toString(16).padStart(2, '0');
}

function nicSpec(facts: SmallNic, index: number): NicSpec {
  return {
    name: facts.name,
    driver: 'gve',
    address: nicAddress(facts),
    parent: `0000:${below(facts.bus, 1)}:00.0`,
    node: facts.node,
    speedMbps: 200_000,
    mtu: 8244,
    macAddress: `42:01:0a:00:0${index}:02`,
    addresses: [{ family: 4, address: `10.0.${index}.2`, prefixLength: 32 }],
    rxQueueCount: QUEUES,
    txQueueCount: QUEUES,
    vectors: Array.from({ length: 2 * QUEUES + 1 }, (_, vector) => vectorSpec(facts, vector)),
    ethtool: dataNicAnswers(),
  };
}

function nicAddress({ bus }: SmallNic): string {
  return `0000:${below(bus, 2)}:00.0`;
}

function vectorSpec(facts: SmallNic, index: number): IrqSpec {
  const isManagement = index === 2 * QUEUES;
  const cpu = isManagement ? facts.node * 2 : (facts.cpus[index % QUEUES] ?? 0);
  const address = nicAddress(facts);
  return {
    irq: facts.firstIrq + index,
    name: `gve-${isManagement ? 'mgmnt' : `ntfy-blk${index}`}@pci:${address}`,
    chip: 'PCI-MSIX',
    address,
    vectorIndex: index,
    requested: String(cpu),
    effective: String(cpu),
    counts: isManagement ? {} : { [cpu]: 1000 + index },
    isManaged: false,
  };
}

/** What the driver of a data NIC of the A3-high machine says. */
function dataNicAnswers(): EthtoolData | undefined {
  return a3HighSpec().nics.find(({ name }) => name === 'eth1')?.ethtool;
}

function gpuSpec({ bus, node }: SmallNic, index: number): GpuSpec {
  return {
    index,
    address: `0000:${below(bus, 3)}:00.0`,
    parent: `0000:${below(bus, 1)}:00.0`,
    node,
    name: 'NVIDIA H100 80GB HBM3',
    uuid: `GPU-00000000-0000-4000-8000-00000000000${index}`,
    irqs: [],
  };
}
