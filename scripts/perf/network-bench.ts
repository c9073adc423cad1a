// Our two-node benchmark between the ends of a net lab.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { at } from '../../src/base/assert.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import type { NetLab, NetLink } from '../../test/support/net-lab.js';
import { ownBench, TCPX } from './own-bench.js';

const SECRET = { NIXL_TCPX_TRUST_SECRET: 'a secret of the laboratory' };
const PORT = '20100';

/** A client at the left end, a server at the right, by this link of the lab. */
export async function benchAcross(
  lab: NetLab,
  link: NetLink,
  serverFlags: readonly string[],
  clientFlags: readonly string[],
): Promise<BenchResult> {
  const flags = ['bench', 'server', '--once', '--json', '--port', PORT, ...serverFlags];
  const [program = '', ...rest] = lab.inside('right', [process.execPath, TCPX, ...flags]);
  const server = spawn(program, rest, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...SECRET },
  });
  try {
    await once(server.stdout, 'data');
    return await ownBench(
      ['--port', PORT, ...clientFlags],
      lab.inside('left', []),
      ['client', link.rightHost],
      SECRET,
    );
  } finally {
    server.kill('SIGKILL');
  }
}

/** Bytes per second over these links of the lab, one channel each. */
export async function networkBench(
  lab: NetLab,
  linkIndexes: readonly number[],
  congestion: string,
  sizeMiB: number,
): Promise<number> {
  const links = linkIndexes.map((index) => at(lab.links, index));
  const left = links.map((link) => link.leftNic).join(',');
  const right = links.map((link) => link.rightNic).join(',');
  // Small ones take a while to learn how fast each link is.
  const [iterations, warmup] = sizeMiB < 16 ? [60, 60] : [2, 1];
  const run = ['--nics', left, '--channels', String(links.length), '--congestion', congestion];
  run.push('--size', `${sizeMiB}MiB`, '--verify', 'sample');
  // The links are the limit, not the code.
  run.push('--iters', String(iterations), '--warmup', String(warmup), '--warmup-seconds', '0');
  const result = await benchAcross(lab, at(links, 0), ['--nics', right], run);
  return result.bandwidthGBps.p50 * 1e9;
}
