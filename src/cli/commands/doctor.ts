// `tcpx doctor`: everything a run needs, each finding with evidence, remedy and proof.

import { collectFacts } from '../../diag/collect.js';
import { diagnose } from '../../diag/doctor.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import { openHost } from '../../host/read/open-host.js';
import type { Command, Invocation } from '../command.js';
import { environmentOfFile, environmentOfProcess, ownEnvironment } from '../environment-source.js';
import { dataNicWish } from '../data-nics.js';
import { formatDiagnosis } from '../doctor-text.js';
import { ExitCode } from '../exit-code.js';
import { countFlag, ROOT_FLAG, rootOf, STATE_FLAG, stateFolderOf } from '../irq-host.js';
import { printJson, printText } from '../print.js';

// Inferred from measurements that grew slower with more sockets; a setting, not a law.
const SOCKET_BUDGET = 8;

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Check everything a run needs; exit 1 when something fails.',
  settings: ['session.nics', 'bench.provider'],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    { name: 'reference', kind: 'text', summary: 'Bundle of an NCCL run on this host.' },
    { name: 'peer', kind: 'text', summary: 'Hosts that the run talks to, comma between.' },
    { name: 'env', kind: 'text', summary: 'Judge the variables in this file, not this shell’s.' },
    { name: 'pid', kind: 'text', summary: 'Judge the variables of this process.' },
    {
      name: 'socket-budget',
      kind: 'text',
      summary: `Data sockets per NIC over all processes (${SOCKET_BUDGET}); off for no limit.`,
    },
    { name: 'all', kind: 'boolean', summary: 'Explain also what passed or was not asked.' },
  ],
  async run(invocation) {
    const environment = environmentOf(invocation);
    const facts = await collectFacts({
      source: openHost(rootOf(invocation)),
      provider: invocation.config.values['bench.provider'],
      nics: dataNicWish(invocation.config, environment),
      environment,
      referenceFolder: invocation.text('reference'),
      stateFolder: stateFolderOf(invocation),
      peers: (invocation.text('peer') ?? '').split(',').filter((name) => name !== ''),
      socketBudget: socketBudget(invocation),
    });
    const diagnosis = diagnose(facts);
    if (invocation.isJson) printJson(diagnosis);
    else printText(formatDiagnosis(diagnosis, invocation.has('all')));
    return diagnosis.ok ? ExitCode.Good : ExitCode.AnswerIsNo;
  },
};

function socketBudget(invocation: Invocation): number {
  if (invocation.text('socket-budget') === 'off') return Number.MAX_SAFE_INTEGER;
  return countFlag(invocation, 'socket-budget', SOCKET_BUDGET);
}

function environmentOf(invocation: Invocation): EnvironmentValues {
  const pid = invocation.text('pid');
  if (pid !== undefined) return environmentOfProcess(rootOf(invocation), pid);
  const file = invocation.text('env');
  return file === undefined ? ownEnvironment() : environmentOfFile(file);
}
