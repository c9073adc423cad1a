// What a verbose run prints before it starts: variables, interrupt affinity, core ranges, and which
// NIC and channels belong together.

import { formatCpuList } from '../base/cpu-set.js';
import { isRelevant } from '../host/environment/difference.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import type { IrqPlan } from '../host/irq/plan.js';
import type { ThreadPlace } from '../host/irq/threads.js';
import { formatAllowed } from '../host/irq/threads.js';
import type { HostModel } from '../host/read/model.js';
import { chooseNics } from '../host/topo/gpu-nic-choice.js';
import { formatTable } from './print.js';

export interface DumpSource {
  readonly model: HostModel;
  readonly plan: IrqPlan;
  readonly environment: EnvironmentValues;
  readonly channels: number;
}

export function formatRunDump({ model, plan, environment, channels }: DumpSource): string {
  const variables = Object.entries(environment)
    .filter(([name]) => isRelevant(name))
    .map(([name, value]) => `${name}=${value}\n`);
  const nics = plan.allocations.map(({ nic }) => nic);
  const irqById = new Map(model.irqs.map((irq) => [irq.irq, irq]));
  const list = (cpus: readonly number[] | undefined) =>
    cpus === undefined ? 'N/A' : formatCpuList(cpus) || '-';
  const affinity = plan.lines.map((line) => [
    String(line.irq),
    line.nic,
    line.queue,
    list(irqById.get(line.irq)?.requested),
    list(irqById.get(line.irq)?.effective),
  ]);
  const ranges = plan.allocations.map(({ nic, tx, rx, irq }) => [
    nic,
    list(tx),
    list(rx),
    list(irq),
    channelText(nics.indexOf(nic), nics.length, channels),
    gpuText(model, nic, nics),
  ]);
  return (
    `variables\n${variables.join('')}\nthread and interrupt cores\n` +
    formatTable([['NIC', 'TX', 'RX', 'IRQ', 'channels', 'GPUs'], ...ranges]) +
    '\ninterrupt affinity\n' +
    formatTable([['IRQ', 'NIC', 'queue', 'requested', 'effective'], ...affinity])
  );
}

/** Channels are dealt to NICs in turn. */
function channelText(nicIndex: number, nicCount: number, channels: number): string {
  const own = Array.from({ length: channels }, (_, channel) => channel).filter(
    (channel) => channel % nicCount === nicIndex,
  );
  return own.length === 0 ? '-' : formatCpuList(own);
}

function gpuText(model: HostModel, nic: string, nics: readonly string[]): string {
  const own = chooseNics(model, nics).filter((choice) => choice.nic === nic);
  return own.length === 0 ? '-' : formatCpuList(own.map(({ gpu }) => gpu));
}

export function formatThreads(threads: readonly ThreadPlace[]): string {
  const rows = threads.map((thread) => [
    String(thread.tid),
    thread.name,
    String(thread.cpu ?? '-'),
    formatAllowed(thread.allowed),
  ]);
  return `thread to CPU\n${formatTable([['thread', 'name', 'CPU', 'allowed'], ...rows])}`;
}
