// Where interrupts and threads are: nodes, clashes, other writers, and the plan applied last.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { coreMapOf, withSiblings } from '../../host/irq/core-map.js';
import { type CpuSet, differenceOf, intersectionOf, unionOf } from '../../host/irq/cpu-choice.js';
import { judgeWriters } from '../../host/irq/competing-writer.js';
import { queueVectors } from '../../host/irq/plan.js';
import { isFailure, type LineState } from '../../host/irq/verify.js';
import type { Nic } from '../../host/read/model.js';
import type { DoctorFacts } from '../facts.js';
import { fail, pass, type Rule, skip, type Verdict, warn } from '../rule.js';

function interruptCpus(nic: Nic, facts: DoctorFacts): CpuSet {
  const irqs = new Map(facts.host.irqs.map((irq) => [irq.irq, irq]));
  return unionOf(
    ...queueVectors(nic).map(
      ({ irq }) => irqs.get(irq)?.effective ?? irqs.get(irq)?.requested ?? [],
    ),
  );
}

export const irqNodeRule: Rule = {
  id: 'irq.node',
  area: 'run',
  title: 'Interrupts of data NICs run on the NIC’s own node',
  why: 'A packet handled on the other node crosses the socket link twice.',
  remedy: 'tcpx irq plan --policy split, then tcpx irq apply.',
  proof: 'tcpx irq show',
  check(facts): Verdict {
    const cores = coreMapOf(facts.host);
    if (facts.host.nodes.length < 2) return skip('one NUMA node');
    const remote = facts.dataNics.flatMap((nic) => {
      const far = interruptCpus(nic, facts).filter((cpu) => {
        const node = cores.nodeOf(cpu);
        return nic.node !== undefined && node !== undefined && node !== nic.node;
      });
      return far.length === 0
        ? []
        : [`${nic.name} (node ${nic.node ?? '?'}): ${formatCpuList(far)}`];
    });
    if (remote.length > 0) return warn(...remote);
    return pass(`${facts.dataNics.length} NICs, all interrupts local`);
  },
};

export const clashRule: Rule = {
  id: 'irq.clash',
  area: 'run',
  title: 'Interrupts do not share cores with send and receive threads',
  why:
    'A busy-polling thread and the softirq that feeds it take turns on one core; on the sibling ' +
    'hyperthread they share its units.',
  remedy: 'tcpx irq plan --policy split gives each its own cores.',
  proof: 'tcpx irq show --vectors',
  check(facts): Verdict {
    const sets = ['TX', 'RX'].map((use) => {
      const text = facts.environment[`NCCL_GPUDIRECTTCPX_${use}_BINDINGS`] ?? '';
      return [use, unionOf(...parseBindings(text).bindings.map(bindingCpus))] as const;
    });
    if (sets.every(([, cpus]) => cpus.length === 0)) return skip('no binding variables are set');
    const cores = coreMapOf(facts.host);
    const found = facts.dataNics.flatMap((nic) => {
      const own = interruptCpus(nic, facts);
      const siblings = differenceOf(withSiblings(own, cores), own);
      return sets.flatMap(([use, cpus]) => [
        ...clashLine(nic.name, 'shares', intersectionOf(own, cpus), use),
        ...clashLine(nic.name, 'is sibling of', intersectionOf(siblings, cpus), use),
      ]);
    });
    return found.length === 0 ? pass('interrupt and thread cores are apart') : warn(...found);
  },
};

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
    const { endangered, notes, remedies } = judgeWriters(lines, host.writers, driverOf);
    if (endangered.length > 0) {
      return warn(`irqbalance runs and moves ${endangered.length} interrupts`, ...remedies);
    }
    return notes.length > 0 ? warn(...notes) : pass('no active writer found');
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
    if (applied === undefined) return skip('no plan was applied on this host');
    const broken = applied.filter(({ state }) => isFailure(state));
    const count = (state: LineState) => applied.filter((line) => line.state === state).length;
    if (broken.length === 0) {
      return pass(`${applied.length} lines, ${count('pending')} pending their next interrupt`);
    }
    const first = broken
      .slice(0, 3)
      .map(({ irq, nic, evidence }) => `IRQ ${irq} ${nic}: ${evidence}`);
    return fail(`${broken.length} of ${applied.length} lines do not hold`, ...first);
  },
};
