// A program in a namespace of a net lab that runs while the test goes on.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { packageRoot } from './child.js';

export interface InsideProgram {
  stdout(): string;
  stderr(): string;
  kill(): void;
  signal(name: NodeJS.Signals): void;
  /** Exit status, null after a signal. */
  end(limitMs: number): Promise<number | null>;
}

export function spawnInside(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
): InsideProgram {
  const [program = '', ...rest] = words;
  const child = spawn(program, rest, {
    cwd: packageRoot,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const closed = once(child, 'close') as Promise<[number | null]>;
  return {
    stdout: () => stdout,
    stderr: () => stderr,
    kill: () => child.kill('SIGKILL'),
    signal: (name) => child.kill(name),
    end: async (limitMs) => {
      const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
      const [code] = await closed;
      clearTimeout(timer);
      return code;
    },
  };
}
