// Starts the process that checks a plugin and gathers what it found, also when the plugin ends it.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { launchUrl } from '../../../base/launch.js';
import { type LoggerLine, splitLoggerLines } from '../../../ffi/nccl-net/logger-line.js';
import type { Variables } from '../plugin-variables.js';
import {
  type CheckedPlugin,
  type CheckLine,
  collectResults,
  type RuleResult,
} from './check-rules.js';

/** How the process is started; one argument, as JSON. */
export interface CheckRequest {
  readonly path: string;
  readonly name: string;
  readonly nic: string;
  readonly gpu: number;
  /** For each thing that is waited for. */
  readonly limitMs: number;
  /** For everything: then the process ends itself, and a little later is ended. */
  readonly timeoutMs: number;
}

export interface CheckOutcome {
  /** Undefined where it could not be loaded. */
  readonly plugin: CheckedPlugin | undefined;
  readonly results: readonly RuleResult[];
  readonly log: readonly LoggerLine[];
}

const MAIN = 'provider/tcpx/check/check-main.js';
const GRACE_MS = 3000;

export function runCheck(request: CheckRequest, environment: Variables): Promise<CheckOutcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [fileURLToPath(launchUrl(MAIN)), JSON.stringify(request)],
      {
        env: environment,
        stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
        timeout: request.timeoutMs + GRACE_MS,
        killSignal: 'SIGKILL',
      },
    );
    const texts = { stdout: '', stderr: '', log: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (texts.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (texts.stderr += text));
    child.stdio[3]?.on('data', (bytes: Buffer) => (texts.log += bytes.toString('utf8')));
    child.on('error', reject);
    child.on('close', (exitCode, signal) => {
      const lines = parseLines(texts.stdout);
      const last = texts.stderr.trim().split('\n').at(-1) ?? '';
      const how = endText(exitCode, signal, last);
      const found = lines.find((line) => 'plugin' in line);
      resolve({
        plugin: found !== undefined && 'plugin' in found ? found.plugin : undefined,
        results: collectResults(lines, how),
        log: splitLoggerLines(`${texts.log}\n`).lines,
      });
    });
  });
}

function endText(exitCode: number | null, signal: string | null, lastWords: string): string {
  if (signal === 'SIGALRM' || signal === 'SIGKILL') return 'it did not return in time';
  if (signal !== null) return `its process was ended by ${signal}`;
  if (exitCode === 0) return 'not tried: a rule before it failed';
  const words = lastWords === '' ? '' : `: ${lastWords}`;
  return `its process exited with ${exitCode ?? 'nothing'}${words}`;
}

// The plugin may print there too.
function parseLines(text: string): CheckLine[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('{')) return [];
    try {
      // checked: printed by check-main.ts, of the same build
      return [JSON.parse(line) as CheckLine];
    } catch {
      return [];
    }
  });
}
