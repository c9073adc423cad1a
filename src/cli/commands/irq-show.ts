// `tcpx irq show`: which interrupts each NIC has, where they go, and which cores the threads get.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCpuList } from '../../base/cpu-set.js';
import { toTcpxError } from '../../base/errors.js';
import { makeFolder } from '../../base/make-folder.js';
import { coreMapOf } from '../../host/irq/core-map.js';
import { timeStamp } from '../../host/irq/journal.js';
import { countedWhen, mappingTable, type ObservedRun } from '../../host/irq/mapping-table.js';
import { analyseOverlap } from '../../host/irq/overlap.js';
import { describeVector } from '../../host/irq/policy.js';
import type { HostModel, Irq, Nic } from '../../host/read/model.js';
import { openHost } from '../../host/read/open-host.js';
import type { Command, Invocation } from '../command.js';
import { ExitCode } from '../exit-code.js';
import {
  BINDING_FLAGS,
  observationOf,
  openIrqHost,
  ROOT_FLAG,
  rootOf,
  shownBindings,
  shownNics,
} from '../irq-host.js';
import { formatMapping } from '../irq-text.js';
import { formatOverlap } from '../overlap-text.js';
import { formatTable, printJson, printNote, printText } from '../print.js';

export const irqShowCommand: Command = {
  name: 'irq show',
  group: 'interrupts',
  summary: 'NIC, node, interrupts, affinity, observed CPUs, thread cores.',
  settings: ['session.nics'],
  flags: [
    ROOT_FLAG,
    { name: 'vectors', kind: 'boolean', summary: 'One line per interrupt as well.' },
    {
      name: 'from',
      kind: 'text',
      value: 'DIR',
      summary: 'Diagnostics bundle with observed interrupts.',
      isAdvanced: true,
    },
    ...BINDING_FLAGS,
    {
      name: 'save',
      kind: 'text',
      value: 'PATH',
      summary: 'Folder for snapshots named with host and time.',
    },
  ],
  examples: [
    ['irq show', 'A line per NIC, and where interrupts and threads share cores.'],
    ['irq show --nics eth1 --vectors', 'One NIC, a line per interrupt.'],
  ],
  run(invocation) {
    const { model, environment } = openIrqHost(invocation);
    const nics = shownNics(invocation, model);
    const observation = observationOf(invocation, model);
    const rows = mappingTable({
      nics,
      irqs: model.irqs,
      txBindings: shownBindings(invocation, 'tx', { model, environment }),
      rxBindings: shownBindings(invocation, 'rx', { model, environment }),
      run: observation,
    });
    const overlap = analyseOverlap({ rows, nics, irqs: model.irqs, cores: coreMapOf(model) });
    const saved = saveSnapshots(invocation, model, nics);
    if (invocation.isJson) {
      const missing = observation?.missing ?? [];
      const vectors = vectorRows(nics, model, observation);
      const counted = countedWhen(observation);
      const { hostname, writers } = model;
      const schema = 'tcpx.irq-show/1';
      const resetIrqs = observation?.resetIrqs ?? [];
      printJson({
        ...{ schema, hostname, counted, rows, overlap, vectors, writers },
        ...{ missing, resetIrqs, saved },
      });
      return Promise.resolve(ExitCode.Good);
    }
    if (rows.length === 0) printText('no NIC here has interrupts of its own');
    else printText(formatMapping(rows, observation));
    if (overlap.length > 0) printText(formatOverlap(overlap));
    for (const writer of model.writers.filter(({ isActive }) => isActive)) {
      printText(`${writer.kind} writes interrupt affinity here: ${writer.evidence}`);
    }
    for (const part of observation?.missing ?? []) printText(`the bundle lacks ${part}`);
    if (observation !== undefined && observation.resetIrqs.length > 0) {
      const irqs = formatCpuList(observation.resetIrqs);
      printText(`counters of IRQ ${irqs} were reset during the run: what they did is unknown`);
    }
    if (invocation.has('vectors')) printText(formatVectors(nics, model, observation));
    for (const path of saved) printNote(`saved ${path}`);
    return Promise.resolve(ExitCode.Good);
  },
};

function vectorRows(nics: readonly Nic[], model: HostModel, run: ObservedRun | undefined) {
  const irqById = new Map(model.irqs.map((irq) => [irq.irq, irq]));
  return nics.flatMap((nic) =>
    nic.vectors.map((vector) => {
      const line = irqById.get(vector.irq);
      return { nic: nic.name, ...vector, line, count: countOf(vector.irq, line, run) };
    }),
  );
}

function countOf(irq: number, line: Irq | undefined, run: ObservedRun | undefined) {
  const counts =
    run === undefined
      ? line?.countByCpu && Object.values(line.countByCpu)
      : run.interrupts.get(irq)?.values();
  return counts === undefined ? undefined : [...counts].reduce((sum, count) => sum + count, 0);
}

function formatVectors(
  nics: readonly Nic[],
  model: HostModel,
  run: ObservedRun | undefined,
): string {
  const list = (cpus: readonly number[] | undefined) =>
    cpus === undefined ? 'N/A' : formatCpuList(cpus) || '-';
  const rows = vectorRows(nics, model, run).map(({ line, ...vector }) => [
    String(vector.irq),
    vector.nic,
    vector.role === 'management' ? 'management' : describeVector(vector),
    list(line?.requested),
    list(line?.effective),
    list(line?.hint),
    String(vector.count ?? 'N/A'),
    vector.source,
  ]);
  const count = `count (${countedWhen(run)})`;
  const heading = ['IRQ', 'NIC', 'queue', 'requested', 'effective', 'hint', count, 'queue from'];
  return formatTable([heading, ...rows]);
}

/** The whole table and the affinity of each NIC interrupt, `N/A` where unreadable. */
function saveSnapshots(invocation: Invocation, model: HostModel, nics: readonly Nic[]): string[] {
  const folder = invocation.text('save');
  if (folder === undefined) return [];
  const name = `${model.hostname ?? 'host'}_${timeStamp(new Date()).slice(0, 15)}.txt`;
  const table = openHost(rootOf(invocation)).files.need('/proc/interrupts') ?? '';
  const affinity = vectorRows(nics, model, undefined).map(({ irq, nic, line }) => {
    const cpus = line?.requested;
    return `IRQ ${irq}: ${nic} ${cpus === undefined ? 'N/A' : formatCpuList(cpus)}\n`;
  });
  const files = [
    [join(folder, `irq_snapshot_${name}`), table],
    [join(folder, `irq_affinity_${name}`), affinity.join('')],
  ] as const;
  try {
    makeFolder(folder);
    for (const [path, text] of files) writeFileSync(path, text);
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `save snapshots in ${folder}`);
  }
  return files.map(([path]) => path);
}
