// `tcpx irq run -- CMD`: runs a command under a policy: exports the binding variables, on request
// binds the interrupts before and puts them back after, and counts interrupts around it.

import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { sleepMs } from '../../base/clock.js';
import { isByHand, processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';
import { mappingTable, type ObservedRun } from '../../host/irq/mapping-table.js';
import { interruptDelta } from '../../host/irq/observation.js';
import type { IrqPlan } from '../../host/irq/plan.js';
import { readThreads } from '../../host/irq/threads.js';
import { openHost } from '../../host/read/open-host.js';
import { type Command, type Invocation, usageError } from '../command.js';
import { ownEnvironment } from '../environment-source.js';
import { ExitCode } from '../exit-code.js';
import { formatRunDump, formatThreads } from '../irq-dump.js';
import {
  type IrqHost,
  openIrqHost,
  PLAN_FLAGS,
  planFor,
  ROOT_FLAG,
  STATE_FLAG,
} from '../irq-host.js';
import { formatUnknowns } from '../irq-plan-text.js';
import { formatMapping } from '../irq-text.js';
import { BIND_FLAGS, bindForRun, unbindAfterRun } from '../irq-transaction.js';
import { programWords } from '../own-program.js';
import { printJson, printNote, printText } from '../print.js';
import { bindingVariables, processPlan } from '../process-plan.js';

export const irqRunCommand: Command = {
  name: 'irq run',
  group: 'interrupts',
  summary:
    'Run a command with a policy’s variables and exit with its status; SETUP_IRQ_AFFINITY=1 ' +
    'binds interrupts too.',
  settings: ['session.nics', 'flow.channels'],
  takesRest: true,
  flags: [
    ROOT_FLAG,
    STATE_FLAG,
    ...PLAN_FLAGS,
    { name: 'setup', kind: 'boolean', summary: 'Bind interrupts (also SETUP_IRQ_AFFINITY=1).' },
    ...BIND_FLAGS,
    {
      name: 'verbose',
      kind: 'boolean',
      summary: 'Print variables, cores, interrupts, threads (also VERBOSE=1, UCCL_TCPX_VERBOSE=1).',
    },
  ],
  examples: [
    ['irq run --policy nccl -- ./train.sh', 'Runs it with the variables of the policy.'],
    [
      'irq run --setup --no-baseline -- ./train.sh',
      'Binds interrupts too, and puts them back after.',
    ],
  ],
  async run(invocation) {
    if (invocation.rest.length === 0) throw usageError(irqRunCommand, 'needs -- COMMAND');
    const host = openIrqHost(invocation);
    const isBound = invocation.has('setup') || isSet('SETUP_IRQ_AFFINITY');
    const plan = isBound ? planFor(invocation, host.model) : processPlan(invocation, host);
    const environment = childEnvironment(plan, invocation);
    if (plan.choice !== undefined) printNote(`policy ${plan.policy}: ${plan.choice}`);
    if (plan.unknowns.length > 0) printNote(formatUnknowns(plan));
    const isVerbose = invocation.has('verbose') || isSet('VERBOSE') || isSet('UCCL_TCPX_VERBOSE');
    const journalId = isBound ? bindForRun(invocation, host, plan) : undefined;
    try {
      if (isVerbose) {
        const channels = invocation.config.values['flow.channels'];
        const { model } = openIrqHost(invocation);
        printNote(formatRunDump({ model, plan, environment, channels }));
      }
      const end = await runCounted(invocation, host, environment, isVerbose);
      if (end.status !== 0) printNote(`${invocation.rest[0] ?? ''}: ${endText(end)}`);
      return end.status;
    } finally {
      if (journalId !== undefined) unbindAfterRun(host, journalId);
    }
  },
};

function isSet(name: string): boolean {
  return processEnvironment()[name] === '1';
}

/** This environment with the plan's bindings and NICs, which win over what was set. */
function childEnvironment(plan: IrqPlan, invocation: Invocation): EnvironmentValues {
  const planned: EnvironmentValues = {
    ...bindingVariables(plan),
    NCCL_GPUDIRECTTCPX_SOCKET_IFNAME: plan.allocations.map(({ nic }) => nic).join(','),
    // Otherwise the command would take a number that nobody has asked for as a firm wish.
    ...(isByHand(invocation.config, 'flow.channels')
      ? { UCCL_TCPX_NUM_CHANNELS: String(invocation.config.values['flow.channels']) }
      : {}),
  };
  return { ...ownEnvironment(), ...planned };
}

async function runCounted(
  invocation: Invocation,
  host: IrqHost,
  environment: EnvironmentValues,
  isVerbose: boolean,
): Promise<ChildEnd> {
  const { files } = openHost(host.root);
  const before = files.read('/proc/interrupts');
  const startMs = performance.now();
  const end = await runChild(invocation, environment, isVerbose);
  const seconds = (performance.now() - startMs) / 1000;
  const { interrupts } = interruptDelta(before, files.read('/proc/interrupts'));
  const run: ObservedRun = { seconds, interrupts, busyPercent: new Map() };
  const { nics, irqs } = host.model;
  const rows = mappingTable({ nics, irqs, txBindings: [], rxBindings: [], run });
  if (invocation.isJson) {
    const { status, signal } = end;
    printJson({ schema: 'tcpx.irq-run/1', status, signal, seconds, interrupts: rows });
  } else printText(`interrupts during the run\n${formatMapping(rows, run)}`);
  return end;
}

/** How the command ended; a signal gives the status that a shell would report. */
interface ChildEnd {
  readonly status: number;
  readonly signal: NodeJS.Signals | undefined;
}

function endText({ status, signal }: ChildEnd): string {
  return signal === undefined ? `exit status ${status}` : `ended by ${signal}`;
}

const SIGNAL_STATUS = 128;

function childEnd(code: number | null, signal: NodeJS.Signals | null): ChildEnd {
  if (signal === null) return { status: code ?? ExitCode.RunTime, signal: undefined };
  return { status: SIGNAL_STATUS + constants.signals[signal], signal };
}

// Threads exist only once the program has started: they are looked at after a second.
const THREADS_AFTER_MS = 1000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

async function runChild(
  { rest: words, isJson }: Invocation,
  environment: EnvironmentValues,
  isVerbose: boolean,
): Promise<ChildEnd> {
  const [program = '', ...rest] = programWords(words);
  // With --json stdout is for our document alone.
  const stdio = ['inherit', isJson ? 2 : 'inherit', 'inherit'] as const;
  const child = spawn(program, rest, { stdio: [...stdio], env: environment });
  // An interrupted run must still put the interrupts back: the child ends, then this process does.
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  const ended = new Promise<ChildEnd>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve(childEnd(code, signal)));
  });
  if (isVerbose) {
    await Promise.race([sleepMs(THREADS_AFTER_MS), ended.catch(() => undefined)]);
    const threads = child.pid === undefined ? [] : readThreads(openHost().files, child.pid);
    if (threads.length > 0) printNote(formatThreads(threads));
  }
  try {
    return await ended;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new TcpxError('ERR_USAGE_ARGUMENT', `irq run: start ${program}: ${reason}`, {
      cause: error,
    });
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}
