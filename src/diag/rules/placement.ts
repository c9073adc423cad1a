// Where interrupts and threads are: nodes, clashes, other writers, and the plan applied last.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { judgeWriters } from '../../host/irq/competing-writer.js';
import { coreMapOf, withSiblings } from '../../host/irq/core-map.js';
import { type CpuSet, differenceOf, intersectionOf, unionOf } from '../../host/irq/cpu-choice.js';
import { queueVectors } from '../../host/irq/plan.js';
import { isFailure, isUnknown, type LineVerdict } from '../../host/irq/verify.js';
import type { HostModel, Nic } from '../../host/read/model.js';
import { nicIrqCpus } from '../../host/read/nics.js';
import { fail, pass, type Rule, skip, type Verdict, warn, worst } from '../rule.js';
import { noDataNic } from './nics.js';

export const irqNodeRule: Rule = {
  id: 'irq.node',
  area: 'run',
  title: 'Interrupts of data NICs run on the NIC’s own node',
  why: 'A packet handled on the other node crosses the socket link twice.',
  remedy: 'tcpx irq plan --policy split, then tcpx irq apply.',
  proof: 'tcpx irq show',
  check(facts): Verdict {
    const { nodes } = facts.host;
    if (nodes.length === 0) return skip('no NUMA node is listed');
    if (nodes.length === 1) return skip('one NUMA node');
    return worst(
      facts.dataNics.map((nic) => nodePart(nic, facts.host)),
      noDataNic(facts),
    );
  },
};

function nodePart(nic: Nic, host: HostModel): Verdict {
  const cores = coreMapOf(host);
  const { cpus, certainty } = nicIrqCpus(nic, host.irqs);
  if (nic.node === undefined) return skip(`${nic.name}: its NUMA node is unknown`);
  const isFar = (cpu: number) => {
    const node = cores.nodeOf(cpu);
    return node !== undefined && node !== nic.node;
  };
  const far = cpus.filter(isFar);
  // A wide request may be delivered on either node: only where it is delivered counts.
  if (far.length > 0 && (certainty === 'effective' || far.length === cpus.length)) {
    return warn(`${nic.name} (node ${nic.node}) interrupts CPUs ${formatCpuList(far)}`);
  }
  const unplaced = cpus.filter((cpu) => cores.nodeOf(cpu) === undefined);
  if (far.length > 0 || certainty === 'unknown' || unplaced.length > 0) {
    return skip(`${nic.name}: where its interrupts are delivered is not known`);
  }
  return pass(`${nic.name}: all interrupts on node ${nic.node}`);
}

export const clashRule: Rule = {
  id: 'irq.clash',
  area: 'run',
  readsEnvironment: true,
  title: 'Interrupts do not share cores with send and receive threads',
  why:
    'A busy-polling thread and the softirq that feeds it take turns on one core; on the sibling ' +
    'hyperthread they share its units.',
  remedy: 'tcpx irq plan --policy split gives each its own cores.',
  proof: 'tcpx irq show',
  check(facts): Verdict {
    const sets = ['TX', 'RX'].map((use) => {
      const text = facts.environment[`NCCL_GPUDIRECTTCPX_${use}_BINDINGS`] ?? '';
      return [use, unionOf(...parseBindings(text).bindings.map(bindingCpus))] as const;
    });
    if (sets.every(([, cpus]) => cpus.length === 0)) return skip('no binding variables are set');
    return worst(
      facts.dataNics.map((nic) => clashPart(nic, sets, facts.host)),
      noDataNic(facts),
    );
  },
};

function clashPart(
  nic: Nic,
  sets: readonly (readonly [string, CpuSet])[],
  host: HostModel,
): Verdict {
  const cores = coreMapOf(host);
  const { cpus: own, certainty } = nicIrqCpus(nic, host.irqs);
  const siblings = differenceOf(withSiblings(own, cores), own);
  const found = sets.flatMap(([use, cpus]) => [
    ...clashLine(nic.name, 'shares', intersectionOf(own, cpus), use),
    ...clashLine(nic.name, 'is sibling of', intersectionOf(siblings, cpus), use),
  ]);
  if (found.length > 0 && certainty === 'effective') return warn(...found);
  if (certainty === 'unknown' || found.length > 0) {
    return skip(`${nic.name}: where its interrupts are delivered is not known`);
  }
  if (!cores.areSiblingsKnown) return skip(`${nic.name}: hardware threads of cores are not known`);
  return pass(`${nic.name}: interrupt and thread cores are apart`);
}

function clashLine(nic: string, how: string, cpus: CpuSet, use: string): string[] {
  return cpus.length === 0 ? [] : [`${nic} ${how} ${formatCpuList(cpus)} with ${use} threads`];
}

export const writersRule: Rule = {
  id: 'irq.writers',
  area: 'system',
  title: 'Nobody rewrites interrupt affinity',
  why: 'irqbalance moves interrupts every ten seconds; a binding then lasts that long.',
  remedy: 'Ban the NIC’s driver in irqbalance (--banmod=DRIVER) or stop it.',
  proof: 'tcpx irq verify --watch --seconds 30',
  check({ host, dataNics }): Verdict {
    const lines = dataNics.flatMap((nic) =>
      queueVectors(nic).map((vector) => ({ irq: vector.irq, nic: nic.name })),
    );
    const driverOf = (name: string) => dataNics.find((nic) => nic.name === name)?.driver;
    const verdict = judgeWriters(lines, host.writers, driverOf);
    if (verdict.endangered.length > 0) {
      const { endangered, certainty, remedies } = verdict;
      const text = `irqbalance runs and ${certainty} move ${endangered.length} interrupts`;
      return warn(text, ...remedies);
    }
    if (verdict.notes.length > 0) return warn(...verdict.notes);
    if (host.unseenWriters.length === 0) return pass('no active writer found');
    return skip(`none seen, but ${host.unseenWriters.join(' and ')} could not be read`);
  },
};

export const appliedRule: Rule = {
  id: 'irq.applied',
  area: 'run',
  title: 'The plan that was applied is still in force',
  why: 'A NIC reset, CPU hotplug or another program undoes bindings without a word.',
  remedy: 'Find the cause (tcpx irq verify --watch), then apply the plan again.',
  proof: 'tcpx irq verify',
  check({ applied }): Verdict {
    if (applied === undefined) return skip('no applied plan is recorded');
    if (applied.problem !== undefined)
      return skip(`its lines cannot be judged: ${applied.problem}`);
    const { lines } = applied;
    const first = (some: readonly LineVerdict[]) =>
      some.slice(0, 3).map(({ irq, nic, evidence }) => `IRQ ${irq} ${nic}: ${evidence}`);
    const broken = lines.filter(({ state }) => isFailure(state));
    if (broken.length > 0) {
      return fail(`${broken.length} of ${lines.length} lines do not hold`, ...first(broken));
    }
    const unknown = lines.filter(({ state }) => isUnknown(state));
    if (unknown.length > 0) {
      const text = `${unknown.length} of ${lines.length} lines cannot be judged`;
      return skip(text, ...first(unknown));
    }
    const pendingCount = lines.filter(({ state }) => state === 'pending').length;
    return pass(`${lines.length} lines, ${pendingCount} pending their next interrupt`);
  },
};
