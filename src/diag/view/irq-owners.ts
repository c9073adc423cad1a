// Whose the interrupts of a bundle are: by the PCI address in each row, never by counting rows from
// the first NIC. A device that no section describes is named only where one answer is left.

import { formatCpuList } from '../../base/cpu-set.js';
import { coreMapOf } from '../../host/irq/core-map.js';
import { unionOf } from '../../host/irq/cpu-choice.js';
import { queueVectors } from '../../host/irq/plan.js';
import type { HostModel, Irq, Nic } from '../../host/read/model.js';
import { CONTROL_VARIABLES } from '../../host/topo/data-nics.js';
import type { RunView } from './run-view.js';

export interface IrqOwner {
  /** undefined where nothing tells. */
  readonly nic: string | undefined;
  readonly pciAddress: string | undefined;
  readonly node: number | undefined;
  readonly irqs: readonly number[];
  readonly cpus: readonly number[];
  readonly isLocal: boolean | undefined;
  /** How the name is known. */
  readonly source: 'bundle' | 'control variable' | 'none';
}

export function irqOwners(view: Pick<RunView, 'host' | 'environment'>): readonly IrqOwner[] {
  const { host } = view;
  const known = host.nics
    .filter(({ vectors }) => vectors.length > 0)
    .map((nic) => ownerOf(nic, host));
  const strangers = undescribed(host);
  const name = strangers.length === 1 ? controlName(view) : undefined;
  return [...known, ...strangers.map((stranger) => withName(stranger, name))];
}

function ownerOf(nic: Nic, host: HostModel): IrqOwner {
  const { name, pciAddress, node } = nic;
  const irqs = nic.vectors.map(({ irq }) => irq);
  const queues = queueVectors(nic).map(({ irq }) => irq);
  const place = placeOf(host, node, queues);
  return { nic: name, pciAddress, node, irqs, ...place, source: 'bundle' };
}

function placeOf(host: HostModel, node: number | undefined, irqs: readonly number[]) {
  const cores = coreMapOf(host);
  const lines = irqs.map((irq) => host.irqs.find((one) => one.irq === irq));
  const cpus = unionOf(...lines.map((line) => line?.requested ?? []));
  const nodes = cpus.map((cpu) => cores.nodeOf(cpu));
  const isKnown = node !== undefined && cpus.length > 0 && !nodes.includes(undefined);
  return { cpus, isLocal: isKnown ? nodes.every((one) => one === node) : undefined };
}

/** A driver's rows under an address that no NIC of the bundle has. */
function undescribed(host: HostModel): readonly IrqOwner[] {
  const described = new Set(host.nics.map(({ pciAddress }) => pciAddress));
  const queues = host.nics.flatMap(queueVectors);
  const drivers = new Set(queues.map(({ name }) => kindOf(name)));
  const shapes = new Set(queues.map(({ name }) => shapeOf(name)));
  const byAddress = new Map<string, Irq[]>();
  for (const irq of host.irqs) {
    const { pciAddress: address, actions } = irq;
    if (address === undefined || described.has(address)) continue;
    const kind = kindOf(actions?.[0]);
    if (kind === undefined || !drivers.has(kind)) continue;
    byAddress.set(address, [...(byAddress.get(address) ?? []), irq]);
  }
  // Disks and other devices of virtio share the driver's name, but have no queues of a NIC.
  const nics = [...byAddress].filter(([, lines]) =>
    lines.some(({ actions }) => shapes.has(shapeOf(actions?.[0]))),
  );
  return nics.map(([pciAddress, lines]) => ({
    nic: undefined,
    pciAddress,
    node: undefined,
    irqs: lines.map(({ irq }) => irq),
    cpus: unionOf(...lines.map(({ requested }) => (requested?.length === 1 ? requested : []))),
    isLocal: undefined,
    source: 'none',
  }));
}

/** `gve` of `gve-ntfy-blk0@pci:…`. */
function kindOf(name: string | undefined): string | undefined {
  return /^([a-z_]+)\d*-/.exec(name ?? '')?.[1];
}

/** `virtio-input.` of `virtio2-input.0`: a row without its numbers. */
function shapeOf(name: string | undefined): string {
  return (name ?? '').replace(/@.*$/, '').replaceAll(/\d+/g, '');
}

/** The control NIC by the variables of the run, where the bundle has no section about it. */
function controlName({ host, environment }: Pick<RunView, 'host' | 'environment'>) {
  const named = CONTROL_VARIABLES.map((name) => environment[name] ?? '').find((one) => one !== '');
  const isName = named !== undefined && /^[\w.-]+$/.test(named);
  return isName && !host.nics.some((nic) => nic.name === named) ? named : undefined;
}

function withName(owner: IrqOwner, nic: string | undefined): IrqOwner {
  return nic === undefined ? owner : { ...owner, nic, source: 'control variable' };
}

export function formatOwner(owner: IrqOwner): string {
  const { nic, pciAddress, node, irqs, cpus, isLocal, source } = owner;
  const who = nic ?? 'a NIC that the bundle does not describe';
  const from = source === 'control variable' ? ', named by its control variable' : '';
  const place =
    isLocal === undefined ? '' : isLocal ? `, local to node ${node ?? '?'}` : ', NOT on its node';
  return (
    `${who} (${pciAddress ?? 'address unknown'}${from}): IRQs ${formatCpuList(irqs)} on CPUs ` +
    `${cpus.length === 0 ? 'N/A' : formatCpuList(cpus)}${place}`
  );
}
