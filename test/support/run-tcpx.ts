// Runs the command line as a person would: as a process where it works in another folder or starts
// a program, and otherwise by its words alone.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runResident, type TcpxRun } from './resident-tcpx.js';

export type { TcpxRun } from './resident-tcpx.js';

const PROGRAM = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

export function runTcpx(
  words: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  folder = process.cwd(),
): TcpxRun {
  const env = { ...process.env, ...environment };
  const isOwnProcess = folder !== process.cwd() || words.includes('--') || 'PATH' in environment;
  if (!isOwnProcess) return runResident({ words, environment: env });
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...words], {
    encoding: 'utf8',
    timeout: 60_000,
    cwd: folder,
    env,
  });
  return { status, stdout, stderr };
}
