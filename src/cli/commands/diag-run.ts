// `tcpx diag run -- CMD`: collects a bundle around any command and ends with its status.

import { type Command, usageError } from '../command.js';
import { COLLECT_FLAGS, collectAround } from '../diag-collect.js';
import { ownEnvironment } from '../environment-source.js';

export const diagRunCommand: Command = {
  name: 'diag run',
  group: 'diagnose',
  summary: 'Collect a bundle of diagnostics around a command and exit with its status.',
  settings: ['session.nics'],
  takesRest: true,
  flags: [
    ...COLLECT_FLAGS,
    {
      name: 'label',
      kind: 'text',
      value: 'NAME',
      summary: 'First part of the bundle’s name; default: the program’s.',
    },
  ],
  examples: [
    ['diag run -- ./train.sh', 'A bundle in diagnostics/train.sh_TIME around the run.'],
    ['diag run --deadline 600 -- iperf3 -c node2', 'The same, ended after ten minutes.'],
  ],
  run(invocation) {
    if (invocation.rest.length === 0) throw usageError(diagRunCommand, 'needs -- COMMAND');
    const { rest: words } = invocation;
    const label = invocation.text('label');
    return collectAround(diagRunCommand, invocation, {
      ...{ words, label, environment: ownEnvironment() },
    });
  },
};
