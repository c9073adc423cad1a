// Programs that print their figures in a row of a table, and how each is started. sockperf and
// fi_pingpong were met; the rows of the others were taken from their documentation and sources.
// iperf3 and ucx_perftest have files of their own.

import { sleepMs } from '../../base/clock.js';
import { processEnvironment } from '../../base/config.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { type PeerFigure, reasonOf, startProgram } from './peer-figure.js';

const START_MS = 400;
const TRIES_MAX = 10;

interface RowPeer {
  /** Empty where one process is both ends. */
  readonly server: readonly string[];
  readonly client: readonly string[];
  readonly packageName: string;
  readonly environment: Readonly<Record<string, string>>;
  parse(output: string): PeerFigure | undefined;
}

export async function runRowPeer(peer: RowPeer, stop: AbortSignal): Promise<PeerFigure> {
  const start = (words: readonly string[]) =>
    startProgram(words, peer.packageName, peer.environment, processEnvironment(), stop);
  const server = peer.server.length === 0 ? undefined : start(peer.server);
  try {
    if (server !== undefined) await sleepMs(START_MS);
    const output = await untilAccepted(() => start(peer.client).finished, server !== undefined);
    const figure = peer.parse(output.stdout);
    if (figure !== undefined) return figure;
    const line = reasonOf(output).split('\n').at(-1) ?? '';
    throw new TcpxError('ERR_PEER_REFUSED', `${peer.client[0] ?? ''}: no figures in ${line}`);
  } finally {
    server?.kill();
  }
}

/** On a busy machine a server needs longer than others: who is refused asks again. */
async function untilAccepted<T>(ask: () => Promise<T>, hasServer: boolean): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = isTcpxError(error) && /refused/i.test(error.message);
      if (!isRefused || !hasServer || tries === TRIES_MAX) throw error;
      await sleepMs(START_MS);
    }
  }
}

export interface PeerShape {
  readonly port: number;
  readonly sizeBytes: number;
  readonly seconds: number;
}

/** sockperf's ping-pong, in half round trips. */
export function sockperf({ port, sizeBytes, seconds }: PeerShape): RowPeer {
  const at = ['-i', '127.0.0.1', '-p', String(port), '--tcp'];
  const size = ['-m', String(sizeBytes), '-t', String(Math.ceil(seconds))];
  return {
    server: ['sockperf', 'server', ...at],
    client: ['sockperf', 'ping-pong', ...at, ...size],
    packageName: 'sockperf',
    environment: {},
    parse: parseSockperf,
  };
}

/** The median, as ours: `Latency is 12.345 usec` is the mean, which a few slow ones make. */
export function parseSockperf(output: string): PeerFigure | undefined {
  const text = /percentile 50\.0+ = +([\d.]+)/.exec(output)?.[1];
  return text === undefined ? undefined : { halfTripUs: Number(text) };
}

/** What each program needs besides; fi_pingpong comes with libfabric, the others are fabtests. */
const LIBFABRIC = {
  fi_rma_bw: { words: ['-o', 'write'], packageName: 'fabtests' },
  fi_rdm_pingpong: { words: [], packageName: 'fabtests' },
  fi_pingpong: { words: ['-e', 'msg'], packageName: 'libfabric-bin' },
} as const;

/** Bytes, iterations, total, time, MB/s (10^6), µs per transfer, transfers/s. */
export function libfabric(
  program: keyof typeof LIBFABRIC,
  { port, sizeBytes }: PeerShape,
  iterations: number,
): RowPeer {
  const size = ['-S', String(sizeBytes), '-I', String(iterations), '-p', 'tcp'];
  const words = [program, ...size, ...LIBFABRIC[program].words];
  return {
    server: [...words, '-B', String(port)],
    client: [...words, '-P', String(port), '127.0.0.1'],
    packageName: LIBFABRIC[program].packageName,
    environment: {},
    parse: (output) => parseLibfabric(output, program === 'fi_rma_bw'),
  };
}

export function parseLibfabric(output: string, isBandwidth: boolean): PeerFigure | undefined {
  const lines = output.split('\n').map((line) => line.trim().split(/\s+/));
  const row = lines.findLast(
    ([size = '', ...rest]) => /^\d+[kmg]?$/i.test(size) && rest.length > 4,
  );
  const [megabytes, microseconds] = (row ?? []).slice(-3).map(Number);
  if (megabytes === undefined || microseconds === undefined) return undefined;
  return isBandwidth ? { bytesPerSecond: megabytes * 1e6 } : { halfTripUs: microseconds };
}

/** Between two GPUs of one process, over sockets: shared memory and peer access are off. */
export function ncclTests({ sizeBytes }: Pick<PeerShape, 'sizeBytes'>): RowPeer {
  const size = String(sizeBytes);
  return {
    server: [],
    client: ['sendrecv_perf', '-b', size, '-e', size, '-g', '2', '-c', '0'],
    packageName: 'nccl-tests',
    environment: { NCCL_P2P_DISABLE: '1', NCCL_SHM_DISABLE: '1', NCCL_NET: 'Socket' },
    parse: parseNcclTests,
  };
}

/** Size, count, type, operation, root, time in µs, algorithm and bus bandwidth in GB/s, wrong. */
export function parseNcclTests(output: string): PeerFigure | undefined {
  const row = output.split('\n').find((line) => /^\s*\d+\s+\d+\s+\w+\s/.test(line));
  const gigabytes = Number(row?.trim().split(/\s+/)[6]);
  return gigabytes > 0 ? { bytesPerSecond: gigabytes * 1e9 } : undefined;
}

/** Two processes that meet without a third service. */
export function nixlbench({ port, sizeBytes }: PeerShape, iterations: number): RowPeer {
  const at = ['--runtime_type', 'ASIO', '--asio_address', '127.0.0.1', '--asio_port', String(port)];
  const size = ['--start_block_size', String(sizeBytes), '--max_block_size', String(sizeBytes)];
  const count = ['--num_iter', String(iterations), '--warmup_iter', '16'];
  const words = ['nixlbench', ...at, ...size, ...count, '--op_type', 'WRITE'];
  words.push('--total_buffer_size', String(2 * sizeBytes));
  return {
    server: words,
    client: words,
    packageName: 'nixlbench',
    environment: { UCX_TLS: 'tcp', UCX_NET_DEVICES: 'lo' },
    parse: parseNixlbench,
  };
}

/** Block size, batch size, GB/s (10^9), µs, … */
export function parseNixlbench(output: string): PeerFigure | undefined {
  const row = output.split('\n').find((line) => /^\s*\d+\s+\d+\s+[\d.]+\s+[\d.]+\s/.test(line));
  const gigabytes = Number(row?.trim().split(/\s+/)[2]);
  return gigabytes > 0 ? { bytesPerSecond: gigabytes * 1e9 } : undefined;
}
