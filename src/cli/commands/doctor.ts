// `tcpx doctor`: everything a run needs, each finding with evidence, remedy and proof.

import { EMULATOR_WORD } from '../../base/plugin-settings.js';
import { collectFacts } from '../../diag/collect.js';
import { diagnose } from '../../diag/doctor.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import type { HostFiles } from '../../host/read/host-files.js';
import { openHost } from '../../host/read/open-host.js';
import { namedCongestion } from '../../os/congestion.js';
import type { Command, Invocation } from '../command.js';
import { dataNicWish } from '../data-nics.js';
import { formatLimits, measureHost } from '../doctor-measure.js';
import { formatDiagnosis } from '../doctor-text.js';
import {
  environmentOfFile,
  environmentOfHost,
  environmentOfProcess,
  isEnvironmentKnown,
} from '../environment-source.js';
import { ExitCode } from '../exit-code.js';
import { countFlag, ROOT_FLAG, rootOf, STATE_FLAG, stateFolderOf } from '../irq-host.js';
import { printJson, printText } from '../print.js';

// Inferred from measurements that grew slower with more sockets; a setting, not a law.
const SOCKET_BUDGET = 8;

export const doctorCommand: Command = {
  name: 'doctor',
  group: 'host',
  summary: 'Check everything a run needs; exit 1 when something fails.',
  settings: ['session.nics', 'engine.provider', 'plugin.path', 'socket.congestion'],
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    {
      name: 'reference',
      kind: 'text',
      value: 'DIR',
      summary: 'Bundle of an NCCL run on this host.',
      isAdvanced: true,
    },
    {
      name: 'peer',
      kind: 'text',
      value: 'HOST,...',
      summary: 'Hosts that the run talks to, comma between.',
    },
    {
      name: 'env',
      kind: 'text',
      value: 'FILE',
      summary: 'Judge the variables in this file, not this shell’s.',
    },
    {
      name: 'pid',
      kind: 'text',
      value: 'PID',
      summary: 'Judge the variables of this process.',
      isAdvanced: true,
    },
    {
      name: 'socket-budget',
      kind: 'text',
      value: 'N|off',
      summary: `Data sockets per NIC over all processes (${SOCKET_BUDGET}); off for no limit.`,
      isAdvanced: true,
    },
    {
      name: 'measure',
      kind: 'boolean',
      summary:
        'Time this machine as well: cores, copies, wake-ups, loopback by congestion control.',
    },
    { name: 'all', kind: 'boolean', summary: 'Explain also what passed or was not asked.' },
  ],
  examples: [
    ['doctor', 'What would keep a run from working or slow it down.'],
    [
      'doctor --provider tcpx --peer node2',
      'As the tcpx provider needs it, and the way to a peer.',
    ],
    ['doctor --plugin emulator', 'As a run over the emulator needs it.'],
  ],
  async run(invocation) {
    const source = openHost(rootOf(invocation));
    const environment = {
      ...environmentOf(invocation, source.files),
      ...(await pluginVariables(invocation)),
    };
    const collected = await collectFacts({
      source,
      provider: invocation.config.values['engine.provider'],
      nics: dataNicWish(invocation.config, environment),
      environment,
      referenceFolder: invocation.text('reference'),
      stateFolder: stateFolderOf(invocation),
      peers: (invocation.text('peer') ?? '').split(',').filter((name) => name !== ''),
      socketBudget: socketBudget(invocation),
    });
    const measured = invocation.has('measure') ? await measureHost(collected.host) : undefined;
    const congestion = namedCongestion(invocation.config.values['socket.congestion']);
    const isNamed = invocation.text('env') !== undefined || invocation.text('pid') !== undefined;
    const diagnosis = diagnose({
      ...collected,
      isEnvironmentKnown: isNamed || isEnvironmentKnown(source.files),
      measured,
      congestion,
    });
    if (measured !== undefined && !invocation.isJson) printText(formatLimits(measured));
    if (invocation.isJson)
      printJson(measured === undefined ? diagnosis : { ...diagnosis, measured });
    else printText(formatDiagnosis(diagnosis, invocation.has('all')));
    return diagnosis.ok ? ExitCode.Good : ExitCode.AnswerIsNo;
  },
};

/** Of the plugin that a flag names, as the provider gives them to it. */
async function pluginVariables({ config }: Invocation): Promise<EnvironmentValues> {
  const setting = config.effective.find(({ name }) => name === 'plugin.path');
  if (setting?.origin.startsWith('flag') !== true) return {};
  const named = config.values['plugin.path'];
  if (named !== EMULATOR_WORD) return { UCCL_TCPX_PLUGIN_PATH: named };
  const { emulatorLibrary } = await import('../../ffi/nccl-net/emulator-library.js');
  return {
    UCCL_TCPX_PLUGIN_PATH: emulatorLibrary(),
    NCCL_DYNAMIC_CHUNK_SIZE: String(config.values['flow.chunkBytes']),
  };
}

function socketBudget(invocation: Invocation): number {
  if (invocation.text('socket-budget') === 'off') return Number.MAX_SAFE_INTEGER;
  return countFlag(invocation, 'socket-budget', SOCKET_BUDGET);
}

function environmentOf(invocation: Invocation, files: HostFiles): EnvironmentValues {
  const pid = invocation.text('pid');
  if (pid !== undefined) return environmentOfProcess(rootOf(invocation), pid);
  const file = invocation.text('env');
  return file === undefined ? environmentOfHost(files) : environmentOfFile(file);
}
