// `tcpx nccl NODES GPUS TEST PROCS [DIAG]`: the line and the environment of an nccl-tests run, and
// the run itself where mpirun and the tests are installed; with DIAG 1 inside a bundle.

import { spawnSync } from 'node:child_process';
import { isByHand } from '../../base/config.js';
import { isInstalled } from '../../base/installed.js';
import { type NcclLine, ncclLine, parseNcclNumbers } from '../../diag/nccl-line.js';
import {
  type EnvironmentValues,
  environmentFor,
  formatExports,
} from '../../host/environment/preset.js';
import { dataNics } from '../../host/topo/data-nics.js';
import type { Command, Invocation } from '../command.js';
import { dataNicWish } from '../data-nics.js';
import { COLLECT_FLAGS, collectAround } from '../diag-collect.js';
import { ownEnvironment } from '../environment-source.js';
import { ExitCode } from '../exit-code.js';
import { type IrqHost, openIrqHost } from '../irq-host.js';
import { printCode, printJson, printNote } from '../print.js';
import { processPlan } from '../process-plan.js';

const LABEL = 'nccl';

export const ncclCommand: Command = {
  name: 'nccl',
  group: 'diagnose',
  summary: 'Run nccl-tests over hosts as the reference does, or print the line for it.',
  positionals: 'NODES GPUS TEST PROCS [DIAG]',
  positionalsMax: 5,
  settings: ['session.nics', 'session.ctrlInterface', 'flow.channels'],
  flags: [
    ...COLLECT_FLAGS,
    { name: 'hostfile', kind: 'text', value: 'FILE', summary: 'Hosts for mpirun, one in a line.' },
    { name: 'trace', kind: 'boolean', summary: 'NCCL_DEBUG=TRACE of all subsystems.' },
    { name: 'print', kind: 'boolean', summary: 'Print the line only, also where it could run.' },
  ],
  examples: [
    ['nccl 2 8 0 1 1 --hostfile hosts', 'All-reduce of eight GPUs each, in a bundle.'],
    ['nccl 2 1 2 2 --print', 'The line for sendrecv at the size of our own runs.'],
  ],
  run(invocation) {
    const numbers = parseNcclNumbers(invocation.positionals);
    const host = openIrqHost(invocation);
    const control = controlNic(invocation, host);
    const line = ncclLine({
      ...numbers,
      hostFile: invocation.text('hostfile') ?? '',
      controlNic: control,
      environment: runEnvironment(invocation, host, control),
      hasTrace: invocation.has('trace'),
    });
    const missing = ['mpirun', line.program].filter(
      (program) => !isInstalled(program, ownEnvironment()),
    );
    if (invocation.has('print') || missing.length > 0) {
      show(invocation, line, missing);
      return Promise.resolve(invocation.has('print') ? ExitCode.Good : ExitCode.Environment);
    }
    return runLine(invocation, line, numbers.isCollected);
  },
};

function controlNic(invocation: Invocation, { model }: IrqHost): string {
  const wish = dataNicWish(invocation.config);
  if (wish.control !== '') return wish.control;
  const data = dataNics(model, wish).nics.map(({ name }) => name);
  const spare = model.nics.find((nic) => !nic.isVirtual && !data.includes(nic.name));
  return spare?.name ?? data[0] ?? '';
}

/** What is set here wins over the reference's settings. */
function runEnvironment(invocation: Invocation, host: IrqHost, control: string): EnvironmentValues {
  const { config } = invocation;
  const { txBindings, rxBindings } = bindings(invocation, host);
  const reference = environmentFor({
    preset: 'reference',
    dataNics: dataNics(host.model, dataNicWish(invocation.config)).nics.map(({ name }) => name),
    controlNic: control,
    txBindings,
    rxBindings,
    channels: isByHand(config, 'flow.channels') ? config.values['flow.channels'] : undefined,
  });
  const own = Object.entries(ownEnvironment()).filter(([name]) => /^(NCCL_|UCCL_)/.test(name));
  return { ...reference, ...Object.fromEntries(own) };
}

/** None where no plan can be made here, as on a host without data NICs. */
function bindings(invocation: Invocation, host: IrqHost) {
  try {
    return processPlan(invocation, host);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    printNote(`no bindings: ${reason}`);
    return { txBindings: '', rxBindings: '' };
  }
}

function show(
  invocation: Invocation,
  { words, environment }: NcclLine,
  missing: readonly string[],
) {
  if (invocation.isJson) {
    printJson({ schema: 'tcpx.nccl/1', words, environment, missing });
    return;
  }
  printCode(`${formatExports(environment)}${words.join(' ')}\n`);
  if (missing.length > 0) printNote(`not run: ${missing.join(' and ')} not found in PATH`);
}

function runLine(invocation: Invocation, line: NcclLine, isCollected: boolean): Promise<number> {
  const environment = { ...ownEnvironment(), ...line.environment };
  const { words } = line;
  if (isCollected) {
    return collectAround(ncclCommand, invocation, { words, environment, label: LABEL });
  }
  const [program = '', ...rest] = words;
  const stdout = invocation.isJson ? 2 : 'inherit';
  const ran = spawnSync(program, rest, { stdio: ['inherit', stdout, 'inherit'], env: environment });
  const status = ran.status ?? ExitCode.RunTime;
  if (invocation.isJson) printJson({ schema: 'tcpx.nccl/1', words, environment, status });
  return Promise.resolve(status);
}
