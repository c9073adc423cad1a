// Asks a plugin for its devices in a child process: the plugin may end the process that holds it,
// and its initialisation can hang.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { processEnvironment } from '../base/config.js';
import { type ErrorCode, TcpxError } from '../base/errors.js';
import { launchUrl } from '../base/launch.js';
import { LEVEL_WARN, type LoggerLine, splitLoggerLines } from '../ffi/nccl-net/logger-line.js';
import type { DeviceProperties } from '../ffi/nccl-net/properties.js';

export interface PluginFacts {
  readonly path: string;
  readonly name: string;
  readonly tableVersion: number;
  readonly isEmulated: boolean;
  /** Why the plugin's words are not captured; empty when they are. */
  readonly logSilence: string;
  readonly devices: readonly DeviceProperties[];
}

/** What the child prints. */
export type ProbeAnswer =
  | { readonly found: PluginFacts }
  | { readonly failed: { readonly code: ErrorCode; readonly message: string } };

export interface ProbeRequest {
  readonly path: string;
  readonly name: string;
  /** Added to the environment of the plugin. */
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  onLine(line: LoggerLine): void;
}

const MAIN = 'cli/plugin-probe-main.js';

export async function probePlugin(request: ProbeRequest): Promise<PluginFacts> {
  const ended = await runProbe(request);
  const { lines } = splitLoggerLines(`${ended.logText}\n`);
  for (const line of lines) request.onLine(line);
  const warnings = lines.filter((line) => line.level === LEVEL_WARN).map((line) => line.text);
  const answer = ended.stdout === '' ? undefined : parseAnswer(ended.stdout);
  if (answer === undefined) throw deathError(ended, warnings);
  if ('found' in answer) return answer.found;
  throw new TcpxError(answer.failed.code, withWarnings(answer.failed.message, warnings));
}

interface ProbeEnd {
  readonly stdout: string;
  readonly stderr: string;
  readonly logText: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

function runProbe(request: ProbeRequest): Promise<ProbeEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(launchUrl(MAIN)), request.path, request.name],
      {
        env: { ...processEnvironment(), ...request.environment },
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        timeout: request.timeoutMs,
        killSignal: 'SIGKILL',
      },
    );
    const texts = { stdout: '', stderr: '', logText: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text));
    child.stdio[3]?.on('data', (bytes: Buffer) => (texts.logText += bytes.toString('utf8')));
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      resolve({ ...texts, exitCode, signal });
    });
  });
}

function parseAnswer(text: string): ProbeAnswer | undefined {
  // The plugin may print on stdout too; the answer is the last line.
  const line = text.trimEnd().split('\n').at(-1) ?? '';
  try {
    // checked: printed by plugin-probe-main.ts, of the same build
    return JSON.parse(line) as ProbeAnswer;
  } catch {
    return undefined;
  }
}

function deathError(ended: ProbeEnd, warnings: readonly string[]): TcpxError {
  const how =
    ended.signal === 'SIGKILL'
      ? 'it did not answer in time and was ended'
      : ended.signal === null
        ? `its process exited with ${ended.exitCode ?? 'no status'}`
        : `its process was ended by ${ended.signal}`;
  const lastWords = ended.stderr.trimEnd().split('\n').at(-1) ?? '';
  const said = warnings.length > 0 || lastWords === '' ? warnings : [lastWords];
  return new TcpxError('ERR_NCCLNET_EXIT', withWarnings(`probing the plugin: ${how}`, said), {
    facts: { exitCode: ended.exitCode ?? undefined, signal: ended.signal ?? undefined },
  });
}

function withWarnings(message: string, warnings: readonly string[]): string {
  return warnings.length === 0 ? message : `${message}; it said: ${warnings.slice(-3).join(' | ')}`;
}
