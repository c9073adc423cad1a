// Our own benchmark as a fresh process, as anybody would run it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { BenchResult } from '../../src/bench/bench-result.js';

export const TCPX = fileURLToPath(new URL('../../../bin/tcpx.js', import.meta.url));

export async function ownBench(
  flags: readonly string[],
  prefix: readonly string[] = [],
  sub: readonly string[] = ['loopback'],
  environment: Readonly<Record<string, string>> = {},
): Promise<BenchResult> {
  const words = [...prefix, process.execPath, TCPX, 'bench', ...sub, '--json', ...flags];
  const [program = '', ...rest] = words;
  const child = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    // Not among the results that the user keeps.
    env: { ...process.env, NIXL_TCPX_BENCH_KEEP: '0', ...environment },
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${words.join(' ')}: exit ${String(code)}`);
  return JSON.parse(output) as BenchResult;
}
