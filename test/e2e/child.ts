// Runs a program to its end and returns what it printed.

import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runResident } from '../support/resident-tcpx.js';

export interface ChildResult {
  /** null where a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface ChildOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs?: number;
}

/** Compiled tests lie in dist/test/e2e, three folders below the root. */
export const packageRoot = fileURLToPath(new URL('../../..', import.meta.url));

export function runChild(
  program: string,
  words: readonly string[],
  options: ChildOptions = {},
): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, words, {
      cwd: options.cwd ?? packageRoot,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: options.timeoutMs ?? 60_000,
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (exitCode) => {
      resolve({ exitCode, stdout, stderr });
    });
  });
}

/** Of every tcpx that a test starts. */
export const TEST_VARIABLES = {
  NIXL_TCPX_BENCH_WARMUP_SECONDS: '0',
  NIXL_TCPX_BENCH_KEEP: '0',
} as const;

/**
 * `tcpx …` as a user would start it, without settings from this process' environment, except that
 * benchmarks warm up by their count alone: tests look at what they say, not at how fast they are.
 * Nor do they leave their results in the home of whoever runs the tests.
 */
export function runTcpx(words: readonly string[], env: Record<string, string> = {}) {
  return runChild(process.execPath, ['bin/tcpx.js', ...words], { env: tcpxEnvironment(env) });
}

/**
 * The same words without a process of their own, for help and refusals by the dozen: what is said
 * and the exit code are those of the program, only the start of a process is left out.
 */
export function askTcpx(words: readonly string[], env: Record<string, string> = {}): ChildResult {
  const { status, ...said } = runResident({ words, environment: tcpxEnvironment(env) });
  return { exitCode: status, ...said };
}

function tcpxEnvironment(env: Readonly<Record<string, string>>) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(NIXL_|UCCL_|NCCL_)/.test(name),
  );
  return { ...Object.fromEntries(inherited), ...TEST_VARIABLES, ...env };
}
