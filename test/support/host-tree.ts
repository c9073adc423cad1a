// Builds the /proc and /sys of a made-up host (CPUs, nodes, settings); devices and interrupts are
// in the two files beside it.

import { formatCpuList, parseCpuList } from '../../src/base/cpu-set.js';
import { CAPTURE_FOLDER, type FileTree } from '../../src/host/read/file-tree.js';
import { type HostSpec, onlineCpus } from './host-spec.js';
import { addDevices } from './host-tree-devices.js';
import { addInterrupts } from './host-tree-irqs.js';
import { TreeBuilder } from './tree-builder.js';

export function buildHostTree(spec: HostSpec): FileTree {
  const tree = new TreeBuilder();
  addIdentity(tree, spec);
  addCpus(tree, spec);
  addNodes(tree, spec);
  addDevices(tree, spec);
  addInterrupts(tree, spec);
  addSettings(tree);
  return tree.entries;
}

function addIdentity(tree: TreeBuilder, spec: HostSpec): void {
  tree.file('/proc/sys/kernel/hostname', spec.hostname);
  tree.file('/proc/sys/kernel/osrelease', spec.kernelRelease);
  tree.file('/proc/cmdline', spec.kernelArguments);
  tree.file('/proc/cpuinfo', 'processor\t: 0\nmodel name\t: Fixture CPU @ 2.70GHz');
  for (const { pid, comm, cmdline } of spec.processes) {
    tree.file(`/proc/${pid}/comm`, comm);
    tree.raw(`/proc/${pid}/cmdline`, `${cmdline.join('\0')}\0`);
  }
  const nics = spec.nics.map((nic) => ({ name: nic.name, addresses: nic.addresses }));
  tree.file(`${CAPTURE_FOLDER}/addresses.json`, JSON.stringify(nics));
}

function addCpus(tree: TreeBuilder, spec: HostSpec): void {
  const base = '/sys/devices/system/cpu';
  const online = onlineCpus(spec);
  tree.file(`${base}/possible`, `0-${spec.cpuCount - 1}`);
  tree.file(`${base}/present`, `0-${spec.cpuCount - 1}`);
  tree.file(`${base}/online`, formatCpuList(online));
  tree.file(`${base}/isolated`, '');
  const stride = spec.siblingStride;
  for (let cpu = 0; cpu < spec.cpuCount; cpu++) {
    // An offline CPU keeps its folder and loses its topology.
    tree.folder(`${base}/cpu${cpu}`);
    if (!online.includes(cpu)) continue;
    const core = stride === 0 ? cpu : cpu % stride;
    const siblings = stride === 0 ? [cpu] : [core, core + stride];
    const topology = `${base}/cpu${cpu}/topology`;
    const present = siblings.filter((sibling) => online.includes(sibling));
    tree.file(`${topology}/thread_siblings_list`, formatCpuList(present));
    tree.file(`${topology}/core_id`, core);
    tree.file(`${topology}/physical_package_id`, Math.max(0, nodeOfCpu(spec, cpu)));
    if (cpu === nodeFirst(spec, cpu)) {
      const node = nodeCpus(spec, cpu).filter((other) => online.includes(other));
      addCpuHardware(tree, `${base}/cpu${cpu}`, siblings, node);
    }
  }
}

/** The first CPU of the node that the CPU belongs to. */
function nodeFirst(spec: HostSpec, cpu: number): number | undefined {
  return nodeCpus(spec, cpu)[0];
}

function nodeCpus(spec: HostSpec, cpu: number): readonly number[] {
  const node = spec.nodes.find(({ id }) => id === nodeOfCpu(spec, cpu));
  return parseCpuList(node?.cpuList ?? '') ?? [];
}

function addCpuHardware(
  tree: TreeBuilder,
  folder: string,
  siblings: readonly number[],
  node: readonly number[],
): void {
  const caches = [
    [1, 'Data', '48K', siblings],
    [1, 'Instruction', '32K', siblings],
    [2, 'Unified', '2048K', siblings],
    [3, 'Unified', '107520K', node],
  ] as const;
  for (const [index, [level, type, size, sharers]] of caches.entries()) {
    const cache = `${folder}/cache/index${index}`;
    tree.file(`${cache}/level`, level);
    tree.file(`${cache}/type`, type);
    tree.file(`${cache}/size`, size);
    tree.file(`${cache}/shared_cpu_list`, formatCpuList(sharers));
  }
  tree.file(`${folder}/cpufreq/scaling_governor`, 'performance');
  tree.file(`${folder}/cpufreq/scaling_driver`, 'acpi-cpufreq');
  tree.file(`${folder}/cpuidle/state0/name`, 'C1');
  tree.file(`${folder}/cpuidle/state0/latency`, 2);
  tree.file(`${folder}/cpuidle/state0/disable`, 0);
}

function nodeOfCpu(spec: HostSpec, cpu: number): number {
  const node = spec.nodes.find(({ cpuList }) => (parseCpuList(cpuList) ?? []).includes(cpu));
  return node?.id ?? -1;
}

function addNodes(tree: TreeBuilder, spec: HostSpec): void {
  if (spec.nodes.length === 0) return;
  const base = '/sys/devices/system/node';
  tree.file(`${base}/online`, formatCpuList(spec.nodes.map((node) => node.id)));
  const online = new Set(onlineCpus(spec));
  for (const node of spec.nodes) {
    const folder = `${base}/node${node.id}`;
    const cpus = (parseCpuList(node.cpuList) ?? []).filter((cpu) => online.has(cpu));
    tree.file(`${folder}/cpulist`, formatCpuList(cpus));
    const distances = spec.nodes.map((other) => (other.id === node.id ? 10 : 21));
    tree.file(`${folder}/distance`, distances.join(' '));
    tree.file(`${folder}/meminfo`, `Node ${node.id} MemTotal:       ${node.memoryKib} kB`);
  }
}

function addSettings(tree: TreeBuilder): void {
  // Where the kernel can use an IOMMU the folder is there, empty while none is active.
  tree.folder('/sys/kernel/iommu_groups');
  const sysctls: Readonly<Record<string, string | number>> = {
    'net/core/rmem_max': 212992,
    'net/core/wmem_max': 212992,
    'net/core/rmem_default': 212992,
    'net/core/wmem_default': 212992,
    'net/core/optmem_max': 131072,
    'net/core/somaxconn': 4096,
    'net/core/rps_sock_flow_entries': 0,
    'net/core/busy_poll': 0,
    'net/core/netdev_budget': 300,
    'net/ipv4/tcp_rmem': '4096\t1048576\t15728640',
    'net/ipv4/tcp_wmem': '4096\t1048576\t67108864',
    'net/ipv4/tcp_congestion_control': 'cubic',
    'net/ipv4/tcp_available_congestion_control': 'reno cubic',
    'net/ipv4/tcp_mtu_probing': 0,
    'net/ipv4/tcp_slow_start_after_idle': 0,
    'net/ipv4/tcp_no_metrics_save': 1,
  };
  for (const [name, value] of Object.entries(sysctls)) tree.file(`/proc/sys/${name}`, value);
  tree.file(
    '/proc/self/limits',
    'Limit                     Soft Limit           Hard Limit           Units     \n' +
      'Max processes             63448                63448                processes \n' +
      'Max open files            1048576              1048576              files     \n' +
      'Max locked memory         unlimited            unlimited            bytes     ',
  );
}
