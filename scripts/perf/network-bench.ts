// Our two-node benchmark between the ends of a net lab.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { NetLab } from '../../test/support/net-lab.js';
import { ownBench, TCPX } from './own-bench.js';

const SECRET = { NIXL_TCPX_TRUST_SECRET: 'a secret of the laboratory' };
const PORT = '20100';

/** Bytes per second over these links of the lab, one channel each. */
export async function networkBench(
  lab: NetLab,
  linkIndexes: readonly number[],
  congestion: string,
  sizeMiB: number,
): Promise<number> {
  const links = linkIndexes.flatMap((index) => lab.links[index] ?? []);
  const left = links.map((link) => link.leftNic).join(',');
  const right = links.map((link) => link.rightNic).join(',');
  const flags = ['bench', 'server', '--once', '--json', '--port', PORT, '--nics', right];
  const [program = '', ...rest] = lab.inside('right', [process.execPath, TCPX, ...flags]);
  const server = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...SECRET },
  });
  try {
    await once(server.stdout, 'data');
    const client = ['--port', PORT, '--nics', left, '--channels', String(links.length)];
    // Small ones take a while to learn how fast each link is.
    const [iterations, warmup] = sizeMiB < 16 ? [60, 60] : [2, 1];
    const run = ['--size', `${sizeMiB}MiB`, '--verify', 'sample'];
    run.push('--iters', String(iterations), '--warmup', String(warmup));
    // The links are the limit, not the code.
    run.push('--warmup-seconds', '0');
    const result = await ownBench(
      [...client, ...run, '--congestion', congestion],
      lab.inside('left', []),
      ['client', links[0]?.rightHost ?? ''],
      SECRET,
    );
    return result.bandwidthGBps.p50 * 1e9;
  } finally {
    server.kill('SIGKILL');
  }
}
