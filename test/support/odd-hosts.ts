// Hosts that break easy assumptions: offline CPUs, renamed NICs, old vector names, virtio, no
// NUMA, no GPU, a container that hides /proc/irq.

import { a3HighSpec } from './a3-high-host.js';
import { EMPTY_HOST, type HostSpec, type IrqSpec, type NicSpec } from './host-spec.js';

const PLAIN_NIC: Omit<NicSpec, 'name' | 'address' | 'vectors'> = {
  driver: 'gve',
  parent: 'pci0000:00',
  node: 0,
  speedMbps: 100_000,
  mtu: 1500,
  macAddress: '02:00:00:00:00:01',
  addresses: [],
  rxQueueCount: 2,
  txQueueCount: 2,
  ethtool: undefined,
};

function vector(irq: number, name: string, address: string, index: number, cpu: number): IrqSpec {
  return {
    irq,
    name,
    chip: 'PCI-MSIX',
    address,
    vectorIndex: index,
    requested: String(cpu),
    effective: String(cpu),
    counts: { [cpu]: 100 + index },
    isManaged: false,
  };
}

/** CPUs 3 and 5 of 8 are offline: columns and lines for them are missing. */
export function offlineCpuHost(): HostSpec {
  const address = '0000:00:04.0';
  const vectors = [0, 1, 2, 3, 4].map((index) =>
    vector(
      40 + index,
      `gve-${index < 4 ? `ntfy-blk${index}` : 'mgmnt'}@pci:${address}`,
      address,
      index,
      [4, 6, 7, 2, 0][index] ?? 0,
    ),
  );
  return {
    ...EMPTY_HOST,
    cpuCount: 8,
    offlineCpus: [3, 5],
    siblingStride: 4,
    nodes: [{ id: 0, cpuList: '0-7', memoryKib: 1024 }],
    nics: [{ ...PLAIN_NIC, name: 'eth0', address, vectors }],
  };
}

/** A 6.1 kernel: every gVNIC carries the same names with a literal `%d`, hwirqs are encoded. */
export function oldKernelHost(): HostSpec {
  const nics = ['ens5', 'ens6'].map((name, nicIndex): NicSpec => {
    const address = `0000:00:0${5 + nicIndex}.0`;
    const vectors = [0, 1, 2, 3, 4].map((index) => {
      const vectorName = index < 4 ? `eth%d-ntfy-block.${index}` : 'eth%d-mgmnt';
      return vector(30 + nicIndex * 5 + index, vectorName, address, index, index % 2);
    });
    return { ...PLAIN_NIC, name, address, vectors };
  });
  return { ...EMPTY_HOST, kernelRelease: '6.1.0', irqTableStyle: 'encoded', nics };
}

/** Four queue pairs on a virtio NIC, eight CPUs on two nodes, no GPU. */
export function virtioHost(): HostSpec {
  const address = '0000:81:00.0';
  const names = ['virtio3-config'];
  for (let queue = 0; queue < 4; queue++) {
    names.push(`virtio3-input.${queue}`, `virtio3-output.${queue}`);
  }
  const vectors = names.map((name, index) => vector(50 + index, name, address, index, index % 8));
  return {
    ...EMPTY_HOST,
    cpuCount: 8,
    nodes: [
      { id: 0, cpuList: '0-3', memoryKib: 1024 },
      { id: 1, cpuList: '4-7', memoryKib: 1024 },
    ],
    nics: [
      {
        ...PLAIN_NIC,
        name: 'enp129s0',
        driver: 'virtio_net',
        address,
        parent: 'pci0000:80',
        node: 1,
        speedMbps: -1,
        rxQueueCount: 4,
        txQueueCount: 4,
        vectors,
      },
      { ...PLAIN_NIC, name: 'veth0', driver: 'veth', address: undefined, vectors: [] },
    ],
  };
}

/** A kernel without NUMA: no node folder, `numa_node` is -1. */
export function noNumaHost(): HostSpec {
  const address = '0000:00:03.0';
  const vectors = [0, 1, 2].map((index) =>
    vector(
      24 + index,
      ['virtio0-config', 'virtio0-input.0', 'virtio0-output.0'][index] ?? '',
      address,
      index,
      0,
    ),
  );
  const nic = { ...PLAIN_NIC, driver: 'virtio_net', node: -1, rxQueueCount: 1 } as const;
  return {
    ...EMPTY_HOST,
    nodes: [],
    nics: [{ ...nic, name: 'eth0', address, txQueueCount: 1, vectors }],
  };
}

/** The A3-high machine seen from a container in which /proc/irq is hidden. */
export function containerHost(): HostSpec {
  return { ...a3HighSpec(), hasProcIrq: false };
}
