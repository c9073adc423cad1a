// ucx_perftest as a peer: UCX over TCP on the loopback device.

import { sleepMs } from '../../base/clock.js';
import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { type PeerFigure, type ProgramOutput, reasonOf, startProgram } from './peer-figure.js';

export interface UcxOptions {
  readonly test: 'ucp_put_bw' | 'ucp_get' | 'ucp_put_lat';
  readonly port: number;
  readonly sizeBytes: number;
  readonly iterations: number;
  /** Sent and not completed, at most; without a limit where absent. */
  readonly outstanding?: number;
  /** Iterations before; UCX's own choice where absent. */
  readonly warmup?: number;
  readonly stop?: AbortSignal;
}

const START_MS = 500;
const ENVIRONMENT = { UCX_TLS: 'tcp', UCX_NET_DEVICES: 'lo', UCX_WARN_UNUSED_ENV_VARS: 'n' };

export async function runUcx(options: UcxOptions): Promise<PeerFigure> {
  const common = ['ucx_perftest', '-p', String(options.port)];
  const start = (words: readonly string[]) =>
    startProgram(words, 'ucx-utils', ENVIRONMENT, processEnvironment(), options.stop);
  const server = start(common);
  try {
    await sleepMs(START_MS);
    const size = ['-s', String(options.sizeBytes), '-n', String(options.iterations)];
    if (options.warmup !== undefined) size.push('-w', String(options.warmup));
    if (options.outstanding !== undefined) size.push('-O', String(options.outstanding));
    const words = [...common, '-t', options.test, ...size, '-f', '127.0.0.1'];
    return parseUcx(await start(words).finished, options);
  } finally {
    server.kill();
  }
}

/** Pure. The `Final:` row: iterations, median, average, overall µs, average and overall MB/s. */
function parseUcx(output: ProgramOutput, options: UcxOptions): PeerFigure {
  const row = /^Final:\s+(.*)$/m.exec(output.stdout)?.[1]?.trim().split(/\s+/).map(Number);
  // With -f alone numbers are printed: the last line that consists of numbers.
  const numbers = row ?? lastNumbers(output.stdout);
  const medianUs = numbers?.[1];
  const overallMBps = numbers?.[5];
  if (medianUs === undefined || overallMBps === undefined) {
    throw new TcpxError('ERR_PEER_REFUSED', `ucx_perftest: no figures in ${reasonOf(output)}`);
  }
  if (options.test === 'ucp_put_lat') return { halfTripUs: medianUs };
  return { bytesPerSecond: overallMBps * 1024 * 1024 };
}

function lastNumbers(output: string): number[] | undefined {
  const lines = output
    .split('\n')
    .filter((line) => /^[\d.\sinf]+$/.test(line) && line.trim() !== '');
  return lines.at(-1)?.trim().split(/\s+/).map(Number);
}

export async function ucxVersion(): Promise<string> {
  const info = startProgram(['ucx_info', '-v'], 'ucx-utils', {}, processEnvironment());
  const { stdout } = await info.finished;
  return /Version ([\d.]+)/.exec(stdout)?.[1] ?? 'unknown';
}
