// `tcpx irq rollback`: undoes the newest apply (or all), and proves it by reading back.

import { TcpxError } from '../../base/errors.js';
import { affinityFolder, errnoOf } from '../../host/irq/affinity-store.js';
import { type IrqJournal, openJournals } from '../../host/irq/journal.js';
import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { checkRoot } from '../irq-checks.js';
import { type IrqHost, openIrqHost, ROOT_FLAG, STATE_FLAG } from '../irq-host.js';
import { type Undoing, undoJournal } from '../irq-transaction.js';
import { formatTable, printJson, printText } from '../print.js';

export const irqRollbackCommand: Command = {
  name: 'irq rollback',
  group: 'interrupts',
  summary: 'Put interrupts back as they were before the last apply; needs root.',
  settings: [],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    { name: 'all', kind: 'boolean', summary: 'Undo every apply, back to the first state.' },
  ],
  examples: [
    ['irq rollback', 'Undoes the last apply and proves it.'],
    ['irq rollback --all', 'Back to the state before the first.'],
  ],
  run(invocation) {
    const host = openIrqHost(invocation);
    checkRoot(host.root);
    const open = openJournals(host.stateFolder, host.bootId);
    const [newest] = open;
    if (newest === undefined) {
      if (invocation.isJson) printJson({ schema: 'tcpx.irq-rollback/1', journals: [] });
      else printText(`nothing to undo: no open journal in ${host.stateFolder}`);
      return Promise.resolve(ExitCode.AnswerIsNo);
    }
    const journals = invocation.has('all') ? open : [newest];
    const results = journals.map((journal) => undo(journal, host));
    if (invocation.isJson) printJson({ schema: 'tcpx.irq-rollback/1', journals: results });
    else for (const result of results) printText(formatResult(result));
    const isRestored = results.every(({ state }) => state === 'rolled-back');
    return Promise.resolve(isRestored ? ExitCode.Good : ExitCode.RunTime);
  },
};

function undo(journal: IrqJournal, host: IrqHost): Undoing {
  const store = affinityFolder(host.root);
  for (const { irq } of journal.entries) {
    try {
      store.probe(irq);
    } catch (error) {
      const errno = errnoOf(error);
      if (errno !== 'EACCES' && errno !== 'EROFS') continue;
      throw new TcpxError(
        'ERR_CAP_PERMISSION',
        `write affinity of IRQ ${irq}: ${errno}; nothing was written. Rolling back needs root`,
      );
    }
  }
  return undoJournal(journal, host);
}

function formatResult({ id, state, lines, xps }: Undoing): string {
  const rows = lines.map((line) => [
    String(line.irq),
    line.nic,
    line.queue,
    line.found ?? 'N/A',
    line.wanted,
    line.now ?? 'N/A',
    line.text,
  ]);
  const heading = ['IRQ', 'NIC', 'queue', 'was', 'wanted back', 'now', 'proof'];
  const restored = lines.filter(({ outcome }) => outcome === 'restored').length;
  return (
    formatTable([heading, ...rows]) +
    xps.problems.map((problem) => `XPS ${problem}\n`).join('') +
    `${state}: ${restored} of ${lines.length} lines read back as before apply ${id}` +
    `${xps.entries.length === 0 ? '' : `, XPS of ${xps.entries.length} send queues as well`}\n`
  );
}
