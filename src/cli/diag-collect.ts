// What `tcpx diag run` and the NCCL runner share: flags of a collection, running it, and its end.

import { parseBytes } from '../base/units.js';
import { BUNDLES_FOLDER, labelOf, requireLabel } from '../diag/bundle/bundle-folder.js';
import { type CollectedRun, collectRun } from '../diag/bundle/collector.js';
import { headline } from '../diag/view/summary-text.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { STATE_FOLDER_VARIABLE } from '../host/read/emulated-nics.js';
import { DATA_LIST_VARIABLE } from '../host/topo/data-nics.js';
import { type Command, type Invocation, type OwnFlag, usageError } from './command.js';
import { ExitCode } from './exit-code.js';
import { keptResult } from './kept-result.js';
import { programWords } from './own-program.js';
import { packageVersion } from './package-version.js';
import { printJson, printNote } from './print.js';

export const OUT_FLAG: OwnFlag = {
  name: 'out',
  kind: 'text',
  value: 'DIR',
  summary: `Folder of bundles; default ${BUNDLES_FOLDER}.`,
};

export const COLLECT_FLAGS: readonly OwnFlag[] = [
  OUT_FLAG,
  {
    name: 'deadline',
    kind: 'text',
    value: 'SECONDS',
    summary: 'End the command after this time; default: let it run.',
  },
  {
    name: 'size-max',
    kind: 'text',
    value: 'BYTES',
    summary: 'What the bundle may take; default 64MiB.',
    isAdvanced: true,
  },
  {
    name: 'emulated',
    kind: 'text',
    value: 'DIR',
    summary: `NICs of the plugin emulator, in this folder; default $${STATE_FOLDER_VARIABLE}.`,
    isAdvanced: true,
  },
  { name: 'perf', kind: 'boolean', summary: 'Also a profile, where perf is installed.' },
];

const INTERVAL_MS = 1000;
const SIZE_BYTES = 64 * 1024 ** 2;
const SIZE_BYTES_MIN = 1024 ** 2;
const DEADLINE_S_MAX = 2_000_000;

export interface CollectRequest {
  readonly words: readonly string[];
  readonly environment: EnvironmentValues;
  readonly label: string | undefined;
}

/** Runs the command and returns its status; 4 where it went well and the bundle did not. */
export async function collectAround(
  command: Command,
  invocation: Invocation,
  request: CollectRequest,
): Promise<number> {
  const { words, environment } = request;
  const collected = await collectRun({
    words: programWords(words),
    environment,
    // With --json stdout is for our document alone.
    stdout: invocation.isJson ? process.stderr : process.stdout,
    stderr: process.stderr,
    parent: invocation.text('out') ?? BUNDLES_FOLDER,
    label: requireLabel(request.label ?? labelOf(words[0] ?? '')),
    version: packageVersion(),
    named: namedNics(invocation, environment),
    emulatedFolder: invocation.text('emulated') ?? environment[STATE_FOLDER_VARIABLE] ?? '',
    intervalMs: INTERVAL_MS,
    deadlineMs: deadlineMs(command, invocation),
    sizeBytesMax: sizeMax(command, invocation),
    hasProfile: invocation.has('perf'),
    resultOf: await keptResult(words, environment),
  });
  report(invocation, words, collected);
  const { end, problem } = collected;
  return end.status === 0 && problem !== undefined ? ExitCode.RunTime : end.status;
}

function namedNics(invocation: Invocation, environment: EnvironmentValues): readonly string[] {
  const named = invocation.config.values['session.nics'];
  const text = named === '' ? (environment[DATA_LIST_VARIABLE] ?? '') : named;
  return text.split(',').filter((name) => /^[\w.-]+$/.test(name) && name !== 'auto');
}

function deadlineMs(command: Command, invocation: Invocation): number | undefined {
  const text = invocation.text('deadline');
  if (text === undefined) return undefined;
  const seconds = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0 && seconds <= DEADLINE_S_MAX) return seconds * 1000;
  throw usageError(command, `--deadline ${text}: seconds up to ${DEADLINE_S_MAX} are wanted`);
}

function sizeMax(command: Command, invocation: Invocation): number {
  const text = invocation.text('size-max');
  if (text === undefined) return SIZE_BYTES;
  const bytes = parseBytes(text) ?? Number.NaN;
  if (bytes >= SIZE_BYTES_MIN) return bytes;
  throw usageError(command, `--size-max ${text}: at least 1MiB is wanted`);
}

function report(invocation: Invocation, words: readonly string[], run: CollectedRun): void {
  const { folder, end, files, problem, view } = run;
  const program = words[0] ?? '';
  if (end.failure !== undefined) printNote(`${program}: did not start: ${end.failure}`);
  else if (end.isTimedOut) printNote(`${program}: ended at the deadline`);
  if (problem !== undefined) printNote(`the bundle is not whole: ${problem}`);
  if (!invocation.isJson) {
    printNote(`bundle ${folder}: ${files.length} files`);
    return;
  }
  const { status, signal } = end;
  printJson({
    ...{ schema: 'tcpx.diag-run/1', ok: problem === undefined, folder, status, signal },
    bandwidth: view === undefined ? undefined : headline(view),
    overheadPercent: view?.end.overheadPercent,
    ...{ files, problem },
  });
}
