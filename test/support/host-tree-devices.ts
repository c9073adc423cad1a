// The PCI tree, network interfaces and GPUs of a made-up host, as sysfs shows them.

import { CAPTURE_FOLDER, relativeLink } from '../../src/host/read/file-tree.js';
import type { GpuSpec, HostSpec, IrqSpec, NicSpec, NodeSpec } from './host-spec.js';
import type { TreeBuilder } from './tree-builder.js';

const NIC_STATISTICS = [
  ...['rx_bytes', 'tx_bytes', 'rx_packets', 'tx_packets', 'rx_dropped'],
  ...['tx_dropped', 'rx_errors', 'tx_errors'],
];

interface PciFacts {
  readonly address: string;
  readonly parent: string;
  readonly node: number;
  readonly classCode: string;
  readonly vendorId: string;
  readonly deviceId: string;
  readonly driver: string;
  readonly irqs: readonly IrqSpec[];
}

export function addDevices(tree: TreeBuilder, spec: HostSpec): void {
  const folders = new Map<string, string>();
  for (const bridge of spec.bridges) {
    addPciDevice(tree, spec, folders, {
      ...bridge,
      classCode: '0x060400',
      vendorId: '0x1000',
      deviceId: '0xc010',
      driver: 'pcieport',
      irqs: [],
    });
  }
  for (const nic of spec.nics) addNic(tree, spec, folders, nic);
  for (const gpu of spec.gpus) addGpu(tree, spec, folders, gpu);
  addNvidiaSmi(tree, spec.gpus);
}

function addPciDevice(
  tree: TreeBuilder,
  spec: HostSpec,
  folders: Map<string, string>,
  facts: PciFacts,
): string {
  const above = folders.get(facts.parent) ?? `/sys/devices/${facts.parent}`;
  const folder = `${above}/${facts.address}`;
  folders.set(facts.address, folder);
  const node = spec.nodes.find(({ id }) => id === facts.node);
  tree.file(`${folder}/class`, facts.classCode);
  tree.file(`${folder}/vendor`, facts.vendorId);
  tree.file(`${folder}/device`, facts.deviceId);
  tree.file(`${folder}/numa_node`, node?.id ?? -1);
  tree.file(`${folder}/local_cpulist`, localCpuList(spec, node));
  tree.file(`${folder}/current_link_speed`, '32.0 GT/s PCIe');
  tree.file(`${folder}/current_link_width`, 16);
  tree.link(`${folder}/driver`, relativeLink(folder, `/sys/bus/pci/drivers/${facts.driver}`));
  tree.folder(`/sys/bus/pci/drivers/${facts.driver}`);
  for (const { irq } of facts.irqs) tree.file(`${folder}/msi_irqs/${irq}`, 'msix');
  const entry = `/sys/bus/pci/devices/${facts.address}`;
  tree.link(entry, relativeLink('/sys/bus/pci/devices', folder));
  return folder;
}

function localCpuList(spec: HostSpec, node: NodeSpec | undefined): string {
  return node === undefined ? `0-${spec.cpuCount - 1}` : node.cpuList;
}

function addNic(
  tree: TreeBuilder,
  spec: HostSpec,
  folders: Map<string, string>,
  nic: NicSpec,
): void {
  let folder = `/sys/devices/virtual/net/${nic.name}`;
  if (nic.address !== undefined) {
    const isVirtio = nic.driver === 'virtio_net';
    const pciFolder = addPciDevice(tree, spec, folders, {
      address: nic.address,
      parent: nic.parent,
      node: nic.node,
      classCode: '0x020000',
      vendorId: '0x1ae0',
      deviceId: '0x0042',
      driver: isVirtio ? 'virtio-pci' : nic.driver,
      irqs: nic.vectors,
    });
    const device = isVirtio ? addVirtioChild(tree, pciFolder, nic) : pciFolder;
    folder = `${device}/net/${nic.name}`;
    tree.link(`${folder}/device`, '../..');
  }
  tree.link(`/sys/class/net/${nic.name}`, relativeLink('/sys/class/net', folder));
  addNicFiles(tree, folder, nic, spec.nics.indexOf(nic) + 2);
}

// The MSI folder lies beside the virtio child, one level above what `device` names.
function addVirtioChild(tree: TreeBuilder, pciFolder: string, nic: NicSpec): string {
  const number = /^virtio(\d+)/.exec(nic.vectors[0]?.name ?? '')?.[1] ?? '0';
  const child = `${pciFolder}/virtio${number}`;
  tree.link(`${child}/driver`, relativeLink(child, '/sys/bus/virtio/drivers/virtio_net'));
  tree.folder('/sys/bus/virtio/drivers/virtio_net');
  return child;
}

function addNicFiles(tree: TreeBuilder, folder: string, nic: NicSpec, ifindex: number): void {
  tree.file(`${folder}/ifindex`, ifindex);
  tree.file(`${folder}/address`, nic.macAddress);
  tree.file(`${folder}/mtu`, nic.mtu);
  tree.file(`${folder}/speed`, nic.speedMbps);
  tree.file(`${folder}/operstate`, 'up');
  tree.file(`${folder}/carrier`, 1);
  tree.file(`${folder}/carrier_changes`, 2);
  tree.file(`${folder}/threaded`, 0);
  tree.file(`${folder}/gro_flush_timeout`, 0);
  tree.file(`${folder}/napi_defer_hard_irqs`, 0);
  for (let queue = 0; queue < nic.rxQueueCount; queue++) {
    tree.file(`${folder}/queues/rx-${queue}/rps_cpus`, '0');
    tree.file(`${folder}/queues/rx-${queue}/rps_flow_cnt`, 0);
  }
  for (let queue = 0; queue < nic.txQueueCount; queue++) {
    tree.folder(`${folder}/queues/tx-${queue}`);
    // With one TX queue the real file exists and refuses to be read.
    if (nic.txQueueCount > 1) tree.file(`${folder}/queues/tx-${queue}/xps_cpus`, '0');
  }
  const bytes = nic.ethtool?.statistics ?? {};
  for (const name of NIC_STATISTICS) {
    tree.file(`${folder}/statistics/${name}`, bytes[name] ?? 0);
  }
  if (nic.ethtool !== undefined) {
    tree.file(`${CAPTURE_FOLDER}/ethtool/${nic.name}.json`, JSON.stringify(nic.ethtool));
  }
}

function addGpu(
  tree: TreeBuilder,
  spec: HostSpec,
  folders: Map<string, string>,
  gpu: GpuSpec,
): void {
  addPciDevice(tree, spec, folders, {
    ...gpu,
    classCode: '0x030200',
    vendorId: '0x10de',
    deviceId: '0x2330',
    driver: 'nvidia',
  });
  tree.file(
    '/proc/driver/nvidia/version',
    'NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build\n' +
      'GCC version:  gcc version 12.3.0',
  );
  tree.file(
    `/proc/driver/nvidia/gpus/${gpu.address}/information`,
    `Model: \t\t ${gpu.name}\nIRQ:   \t\t ${gpu.irqs[0]?.irq ?? 0}\nGPU UUID: \t ${gpu.uuid}\n` +
      `Bus Type: \t PCIe\nBus Location: \t ${gpu.address}\nDevice Minor: \t ${gpu.index}`,
  );
}

function addNvidiaSmi(tree: TreeBuilder, gpus: readonly GpuSpec[]): void {
  if (gpus.length === 0) return;
  const rows = gpus.map(
    (gpu) =>
      `${gpu.index}, ${gpu.uuid}, ${gpu.name}, 0000${gpu.address.toUpperCase()}, ` +
      `570.124.06, 81559, 5, 16, Disabled`,
  );
  tree.file(`${CAPTURE_FOLDER}/nvidia-smi.csv`, rows.join('\n'));
}
