// Runs the command line as a child process, as a person would.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

export interface TcpxRun {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runTcpx(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  folder = process.cwd(),
): TcpxRun {
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], {
    encoding: 'utf8',
    timeout: 60_000,
    cwd: folder,
    env: { ...process.env, ...environment },
  });
  return { status, stdout, stderr };
}
