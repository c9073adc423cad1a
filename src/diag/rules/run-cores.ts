// Where interrupts and threads ran during the run, by what was counted and not by what was asked.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { plural } from '../../base/units.js';
import { coreMapOf, withSiblings } from '../../host/irq/core-map.js';
import { differenceOf, intersectionOf, unionOf } from '../../host/irq/cpu-choice.js';
import { queueVectors } from '../../host/irq/plan.js';
import { pass, skip, type Verdict, warn } from '../rule.js';
import type { RunFacts, RunRule } from '../run-facts.js';
import type { NicRun } from '../view/run-view.js';
import { DATA_BYTES_MIN } from '../view/summary-text.js';

/** CPUs with fewer of a NIC's interrupts saw a stray one. */
const SHARE_MIN = 0.01;

/** Where a NIC's interrupts came in the run; where nobody counted, where each can only go. */
function irqCpus(facts: RunFacts, nic: NicRun): readonly number[] {
  if (facts.run.interrupts === undefined) return pinnedCpus(facts, nic.nic);
  const total = nic.irqCpus.reduce((sum, { count }) => sum + count, 0);
  const counted = nic.irqCpus.filter(({ count }) => count >= total * SHARE_MIN);
  return counted.map(({ cpu }) => cpu).sort((a, b) => a - b);
}

function pinnedCpus({ host }: RunFacts, name: string): readonly number[] {
  const nic = host.nics.find((one) => one.name === name);
  const sets = (nic === undefined ? [] : queueVectors(nic)).map(
    ({ irq }) => host.irqs.find((one) => one.irq === irq)?.requested,
  );
  return unionOf(...sets.filter((cpus) => cpus?.length === 1).map((cpus) => cpus ?? []));
}

function bound({ environment }: RunFacts, use: 'TX' | 'RX', nic?: string): readonly number[] {
  const text = environment[`NCCL_GPUDIRECTTCPX_${use}_BINDINGS`] ?? '';
  const own = parseBindings(text).bindings.filter((one) => nic === undefined || one.nic === nic);
  return unionOf(...own.map(bindingCpus));
}

export const coresSharedRule: RunRule = {
  id: 'cores.shared',
  area: 'run',
  title: 'Interrupts, send threads and receive threads have cores of their own',
  why: 'A spinning thread and the interrupt that feeds it take turns on one core or its sibling.',
  remedy: 'tcpx irq plan --policy split, then tcpx irq apply; set both bindings from tcpx env.',
  proof: 'tcpx irq show --from BUNDLE',
  experiment: 'tcpx irq run --setup --policy split -- the same command.',
  confidence: 0.6,
  gainPercent: 30,
  check(facts): Verdict {
    const tx = bound(facts, 'TX');
    const rx = bound(facts, 'RX');
    if (tx.length === 0 && rx.length === 0) return skip('no binding variables are set');
    const cores = coreMapOf(facts.host);
    const lines: string[] = [];
    let known = 0;
    for (const nic of facts.run.nics) {
      const irq = irqCpus(facts, nic);
      known += irq.length;
      const siblings = differenceOf(withSiblings(irq, cores), irq);
      for (const [use, set] of [
        ['TX', tx],
        ['RX', rx],
      ] as const) {
        lines.push(...shared(`${nic.nic} interrupts and ${use} threads`, intersectionOf(irq, set)));
        lines.push(
          ...shared(`${nic.nic} siblings and ${use} threads`, intersectionOf(siblings, set)),
        );
      }
      const both = intersectionOf(bound(facts, 'TX', nic.nic), bound(facts, 'RX', nic.nic));
      lines.push(...shared(`${nic.nic} TX and RX threads`, both));
    }
    if (lines.length > 0) return warn(...lines);
    return known === 0 ? skip('where interrupts came is not known') : pass('all apart');
  },
};

function shared(what: string, cpus: readonly number[]): readonly string[] {
  return cpus.length === 0 ? [] : [`${what} share CPUs ${formatCpuList(cpus)}`];
}

export const coresRemoteRule: RunRule = {
  id: 'cores.remote',
  area: 'run',
  title: 'Interrupts and threads of a NIC are on its own node',
  why: 'A packet that is handled on the other node crosses the link between sockets twice.',
  remedy: 'tcpx irq plan --policy numa-local, then tcpx irq apply; bindings from tcpx env.',
  proof: 'tcpx irq show --from BUNDLE',
  experiment: 'tcpx irq run --setup --policy numa-local -- the same command.',
  confidence: 0.6,
  gainPercent: 25,
  check(facts): Verdict {
    const cores = coreMapOf(facts.host);
    if (facts.host.nodes.length < 2) return skip('one NUMA node, or none is listed');
    const lines: string[] = [];
    let known = 0;
    for (const nic of facts.run.nics) {
      if (nic.node === undefined) continue;
      const far = (cpus: readonly number[]) =>
        cpus.filter((cpu) => cores.nodeOf(cpu) !== undefined && cores.nodeOf(cpu) !== nic.node);
      const sets = [
        ['interrupts', irqCpus(facts, nic)],
        ['TX threads', bound(facts, 'TX', nic.nic)],
        ['RX threads', bound(facts, 'RX', nic.nic)],
      ] as const;
      for (const [what, cpus] of sets) {
        known += cpus.length;
        const remote = far(cpus);
        if (remote.length === 0) continue;
        lines.push(`${nic.nic} (node ${nic.node}): ${what} on CPUs ${formatCpuList(remote)}`);
      }
    }
    if (lines.length > 0) return warn(...lines);
    return known === 0 ? skip('neither interrupts nor bindings are known') : pass('all local');
  },
};

export const irqMovedRule: RunRule = {
  id: 'irq.moved',
  area: 'run',
  title: 'Interrupts stayed where they were',
  why: 'An affinity that changes in mid-run makes one run of two, and undoes any plan.',
  remedy: 'Ban the driver in irqbalance (--banmod) or stop it; find who reset the NIC.',
  proof: 'tcpx irq verify --watch --seconds 60',
  experiment: 'The run with irqbalance stopped.',
  confidence: 0.8,
  gainPercent: 20,
  check({ run }): Verdict {
    const resets = run.nics.flatMap(({ nic, notes }) =>
      notes.filter((note) => /reset_cnt|began again/.test(note)).map((note) => `${nic}: ${note}`),
    );
    const moved = run.movedIrqs.slice(0, 8).map(({ irq, nic, before, after }) => {
      return `IRQ ${irq} (${nic}): ${formatCpuList(before)}, then ${formatCpuList(after)}`;
    });
    const hidden = run.movedIrqs.length - moved.length;
    const more = hidden > 0 ? [`and ${hidden} more`] : [];
    const lines = [...moved, ...more, ...resets];
    if (lines.length > 0) return warn(...lines);
    return run.interrupts === undefined ? skip('not seen at both ends') : pass('none moved');
  },
};

const BUSY_PERCENT = 95;
const BUSY_SHARE = 0.95;

/** A NIC that carried next to nothing does not make its CPUs those of the run. */
function isUsed({ rx, tx }: NicRun): boolean {
  if (rx.bytes === undefined || tx.bytes === undefined) return true;
  return rx.bytes + tx.bytes >= DATA_BYTES_MIN;
}

export const cpuBoundRule: RunRule = {
  id: 'cpu.bound',
  area: 'run',
  title: 'No lane is held up by its core',
  why: 'A stream is as fast as the core that carries it; more NICs and sockets do not help.',
  remedy: 'More lanes (lane.count, NCCL_SOCKET_NTHREADS), each on a core of its own.',
  proof: 'tcpx watch --cpu --irqs',
  experiment: 'The run with twice the lanes or threads.',
  confidence: 0.55,
  gainPercent: 50,
  check(facts): Verdict {
    const { run } = facts;
    const lines: string[] = [];
    for (const nic of run.nics.filter(isUsed)) {
      for (const cpu of irqCpus(facts, nic)) {
        const busy = run.busyPercent.get(cpu) ?? 0;
        if (busy >= BUSY_PERCENT) {
          lines.push(`CPU ${cpu}, which handles ${nic.nic}, is ${busy.toFixed(0)} % busy`);
        }
      }
    }
    for (const { tid, name, seconds } of run.end.threads) {
      const share = seconds / (run.seconds ?? Number.NaN);
      if (share >= BUSY_SHARE)
        lines.push(`thread ${tid} (${name}) ran ${(share * 100).toFixed(0)} %`);
    }
    if (lines.length > 0) return warn(...lines.slice(0, 8));
    const isKnown = run.busyPercent.size > 0 || run.end.threads.length > 0;
    return isKnown ? pass('no core that carries the run is full') : skip('CPU use was not sampled');
  },
};

/** Less of the time than this is noise; a single pause this long is a hole in the stream. */
const PAUSE_SHARE_MAX = 0.01;
const PAUSE_MS_MAX = 10;

export const pausesRule: RunRule = {
  id: 'lanes.pauses',
  area: 'run',
  title: 'The collector of memory does not stop lanes',
  why: 'While it runs nothing is posted or completed; the window drains and fills again.',
  remedy: 'Keep objects out of the loop; give young memory more room (--max-semi-space-size=64).',
  proof: 'tcpx bench … --json: lanePauses; of other programs node --trace-gc',
  experiment: 'The run with --max-semi-space-size=64 and --trace-gc.',
  confidence: 0.7,
  gainPercent: 10,
  check({ run }): Verdict {
    const { pausesMs } = run.perf;
    const logged = {
      ...{ end: 'log', count: pausesMs.length },
      totalMs: pausesMs.reduce((sum, ms) => sum + ms, 0),
      longestMs: pausesMs.reduce((a, b) => Math.max(a, b), 0),
    };
    const ends = [...(run.bench?.pauses ?? []), ...(pausesMs.length === 0 ? [] : [logged])];
    if (ends.length === 0) return skip('no result of tcpx bench, no lines of --trace-gc');
    const seconds = run.bench?.seconds ?? run.seconds ?? Number.POSITIVE_INFINITY;
    const share = Math.max(...ends.map(({ totalMs }) => totalMs / 1000 / seconds));
    const longest = Math.max(0, ...ends.flatMap(({ longestMs }) => longestMs ?? []));
    const texts = ends.map(({ end, count, totalMs, longestMs }) => {
      const most = longestMs === undefined ? '' : `, longest ${longestMs.toFixed(1)} ms`;
      return `${end}: ${plural(count, 'pause')}, ${totalMs.toFixed(1)} ms in all${most}`;
    });
    if (share <= PAUSE_SHARE_MAX && longest <= PAUSE_MS_MAX) return pass(...texts);
    return { ...warn(...texts), gainPercent: Math.max(1, share * 100) };
  },
};
