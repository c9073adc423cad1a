// /proc/interrupts, /proc/irq, /sys/kernel/irq and the softirq counters of a made-up host.

import { formatCpuMask, parseCpuList } from '../../src/base/cpu-set.js';
import { allIrqs, type HostSpec, type IrqSpec, onlineCpus } from './host-spec.js';
import type { TreeBuilder } from './tree-builder.js';

const ARCHITECTURE_ROWS: readonly (readonly [string, string])[] = [
  ['NMI', 'Non-maskable interrupts'],
  ['LOC', 'Local timer interrupts'],
  ['SPU', 'Spurious interrupts'],
  ['PMI', 'Performance monitoring interrupts'],
  ['IWI', 'IRQ work interrupts'],
  ['RTR', 'APIC ICR read retries'],
  ['RES', 'Rescheduling interrupts'],
  ['CAL', 'Function call interrupts'],
  ['TLB', 'TLB shootdowns'],
  ['TRM', 'Thermal event interrupts'],
  ['MCP', 'Machine check polls'],
  ['PIW', 'Posted-interrupt wakeup event'],
];

export function addInterrupts(tree: TreeBuilder, spec: HostSpec): void {
  tree.raw('/proc/interrupts', interruptsText(spec));
  addSoftirqs(tree, spec);
  for (const irq of allIrqs(spec)) {
    const counts = Array.from({ length: spec.cpuCount }, (_, cpu) => irq.counts[cpu] ?? 0);
    tree.file(`/sys/kernel/irq/${irq.irq}/per_cpu_count`, counts.join(','));
    tree.file(`/sys/kernel/irq/${irq.irq}/actions`, irq.name);
    if (spec.hasProcIrq) addProcIrq(tree, spec, irq);
  }
  if (spec.hasProcIrq) {
    const all = parseCpuList(`0-${spec.cpuCount - 1}`) ?? [];
    tree.file('/proc/irq/default_smp_affinity', formatCpuMask(all, spec.cpuCount) ?? '', 0o644);
  }
}

function addProcIrq(tree: TreeBuilder, spec: HostSpec, irq: IrqSpec): void {
  const folder = `/proc/irq/${irq.irq}`;
  const mask = (list: string) => formatCpuMask(parseCpuList(list) ?? [], spec.cpuCount) ?? '';
  // Newer kernels take the write bit from interrupts that they manage themselves.
  const mode = irq.isManaged ? 0o444 : 0o644;
  tree.file(`${folder}/smp_affinity`, mask(irq.requested), mode);
  tree.file(`${folder}/smp_affinity_list`, irq.requested, mode);
  tree.file(`${folder}/effective_affinity`, mask(irq.effective));
  tree.file(`${folder}/effective_affinity_list`, irq.effective);
  tree.file(`${folder}/affinity_hint`, mask(''));
  tree.file(`${folder}/node`, nodeOfIrq(spec, irq));
  tree.folder(`${folder}/${irq.name}`);
}

function nodeOfIrq(spec: HostSpec, irq: IrqSpec): number {
  const devices = [...spec.nics, ...spec.gpus];
  return devices.find((device) => device.address === irq.address)?.node ?? -1;
}

function interruptsText(spec: HostSpec): string {
  const cpus = onlineCpus(spec);
  const irqs = allIrqs(spec);
  const labelWidth = Math.max(3, String(irqs.at(-1)?.irq ?? 0).length);
  const lines = [' '.repeat(labelWidth + 8) + cpus.map((cpu) => `CPU${cpu}`.padEnd(11)).join('')];
  for (const irq of irqs) {
    const counts = cpus.map((cpu) => String(irq.counts[cpu] ?? 0).padStart(11)).join('');
    const label = String(irq.irq).padStart(labelWidth);
    lines.push(`${label}:${counts} ${chipText(spec, irq)}      ${irq.name}`.trimEnd());
  }
  for (const [label, text] of ARCHITECTURE_ROWS) {
    const counts = cpus.map((cpu) => String(1000 + cpu).padStart(11)).join('');
    lines.push(`${label.padStart(labelWidth)}:${counts}   ${text}`);
  }
  for (const label of ['ERR', 'MIS']) lines.push(`${label.padStart(labelWidth)}:          0`);
  return `${lines.join('\n')}\n`;
}

function chipText(spec: HostSpec, irq: IrqSpec): string {
  if (irq.address === undefined) return ` ${irq.chip}   ${irq.vectorIndex}-edge`;
  if (spec.irqTableStyle === 'address') {
    return `${irq.chip}-${irq.address}   ${irq.vectorIndex}-edge`;
  }
  return ` PCI-MSI ${encodeHwirq(irq.address, irq.vectorIndex)}-edge`;
}

/** Vector index, then bus and device-function from bit 11, then the domain from bit 27. */
export function encodeHwirq(address: string, vectorIndex: number): number {
  const [domain, bus, rest] = address.split(':');
  const [device, fn] = (rest ?? '').split('.');
  const hex = (text: string | undefined) => Number.parseInt(text ?? '0', 16);
  const busDevfn = hex(bus) * 256 + hex(device) * 8 + hex(fn);
  return vectorIndex + busDevfn * 2 ** 11 + hex(domain) * 2 ** 27;
}

function addSoftirqs(tree: TreeBuilder, spec: HostSpec): void {
  const cpus = Array.from({ length: spec.cpuCount }, (_, cpu) => cpu);
  const header = ' '.repeat(20) + cpus.map((cpu) => `CPU${cpu}`.padEnd(11)).join('');
  const rows = ['HI', 'TIMER', 'NET_TX', 'NET_RX', 'BLOCK', 'SCHED', 'RCU'].map(
    (name) => `${name.padStart(12)}:${cpus.map((cpu) => String(cpu * 10).padStart(11)).join('')}`,
  );
  tree.file('/proc/softirqs', [header, ...rows].join('\n'));
  const hex = (value: number) => value.toString(16).padStart(8, '0');
  const softnet = onlineCpus(spec).map((cpu) =>
    [1000 + cpu, 0, cpu % 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, cpu, 0, 0].map(hex).join(' '),
  );
  tree.file('/proc/net/softnet_stat', softnet.join('\n'));
  const cpuLines = onlineCpus(spec).map((cpu) => `cpu${cpu} 100 0 50 1000 5 1 20 0 0 0`);
  tree.file('/proc/stat', ['cpu  200 0 100 2000 10 2 40 0 0 0', ...cpuLines].join('\n'));
  tree.file(
    '/proc/net/snmp',
    'Tcp: RtoAlgorithm InSegs OutSegs RetransSegs InErrs OutRsts CurrEstab\n' +
      'Tcp: 1 1000 2000 3 0 4 5',
  );
  tree.file('/proc/net/netstat', 'TcpExt: TCPTimeouts TCPLossProbes\nTcpExt: 7 8');
}
