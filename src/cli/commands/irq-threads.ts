// `tcpx irq threads PID`: where each thread of a process ran last and where it may run.

import { TcpxError } from '../../base/errors.js';
import { coreMapOf } from '../../host/irq/core-map.js';
import { formatAllowed, readThreads } from '../../host/irq/threads.js';
import { readCpus, readNodes } from '../../host/read/cpus.js';
import { openHost } from '../../host/read/open-host.js';
import { type Command, usageError } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { ROOT_FLAG, rootOf } from '../irq-host.js';
import { formatTable, printJson, printText } from '../print.js';

export const irqThreadsCommand: Command = {
  name: 'irq threads',
  group: 'interrupts',
  summary: 'Thread, last CPU, node and allowed CPUs of a process.',
  positionals: 'PID',
  positionalsMax: 1,
  settings: [],
  flags: [ROOT_FLAG],
  examples: [
    ['irq threads 4711', 'Every thread of this process.'],
    ['irq threads 4711 --json', 'The same for a program.'],
  ],
  run(invocation) {
    const [text = ''] = invocation.positionals;
    if (!/^\d+$/.test(text)) throw usageError(irqThreadsCommand, 'needs a process id');
    const { files } = openHost(rootOf(invocation));
    const threads = readThreads(files, Number(text));
    if (threads.length === 0) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `irq threads: no process ${text}`);
    }
    const nodes = readNodes(files);
    const cores = coreMapOf({ cpus: readCpus(files, nodes), nodes });
    const nodeOf = (cpu: number | undefined) => (cpu === undefined ? undefined : cores.nodeOf(cpu));
    if (invocation.isJson) {
      const rows = threads.map((thread) => ({ ...thread, node: nodeOf(thread.cpu) }));
      printJson({ schema: 'tcpx.irq-threads/1', pid: Number(text), threads: rows });
      return Promise.resolve(ExitCode.Good);
    }
    const milliseconds = (value: number | undefined) =>
      value === undefined ? '-' : value.toFixed(0);
    const rows = threads.map((thread) => [
      String(thread.tid),
      thread.name,
      String(thread.cpu ?? '-'),
      String(nodeOf(thread.cpu) ?? '-'),
      formatAllowed(thread.allowed),
      milliseconds(thread.ranMs),
      milliseconds(thread.waitedMs),
    ]);
    const heading = ['thread', 'name', 'CPU', 'node', 'allowed', 'ran ms', 'waited ms'];
    printText(formatTable([heading, ...rows]));
    return Promise.resolve(ExitCode.Good);
  },
};
