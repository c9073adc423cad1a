// iperf3 as a peer: bandwidth of plain sockets, and the CPU that both of its ends use.

import { sleepMs } from '../../base/clock.js';
import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { type PeerFigure, type ProgramOutput, reasonOf, startProgram } from './peer-figure.js';

export interface Iperf3Options {
  readonly port: number;
  readonly seconds: number;
  readonly streams: number;
  /** Bytes per write; 0 leaves iperf3's own choice. */
  readonly blockBytes: number;
  readonly congestion: string;
  /** Words before the server's and the client's command, to run them in namespaces. */
  readonly serverPrefix?: readonly string[];
  readonly clientPrefix?: readonly string[];
  readonly host?: string;
  /** One runs there already. */
  readonly hasServer?: boolean;
  /** The server sends. */
  readonly isReverse?: boolean;
  readonly stop?: AbortSignal;
}

const START_MS = 300;

export async function runIperf3(options: Iperf3Options): Promise<PeerFigure> {
  const port = String(options.port);
  const serverWords = [...(options.serverPrefix ?? []), 'iperf3', '-s', '-1', '-p', port];
  const start = (words: readonly string[]) =>
    startProgram(words, 'iperf3', {}, processEnvironment(), options.stop);
  const server = options.hasServer === true ? undefined : start(serverWords);
  try {
    if (server !== undefined) await sleepMs(START_MS);
    const words = [...(options.clientPrefix ?? []), 'iperf3', '-c', options.host ?? '127.0.0.1'];
    words.push('-p', port, '-t', String(options.seconds), '-P', String(options.streams), '--json');
    if (options.blockBytes > 0) words.push('-l', String(options.blockBytes));
    if (options.isReverse === true) words.push('-R');
    if (options.congestion !== '') words.push('-C', options.congestion);
    return parseIperf3(await start(words).finished, options);
  } finally {
    server?.kill();
  }
}

/** Pure. A failure is a document too. */
export function parseIperf3(
  output: ProgramOutput,
  { host, port, hasServer }: Pick<Iperf3Options, 'host' | 'port' | 'hasServer'>,
): PeerFigure {
  const document = documentOf(output);
  if (typeof document === 'object' && document !== null && 'error' in document) {
    const advice = hasServer === true ? ` (iperf3 -s -p ${port} at ${host ?? ''})` : '';
    throw new TcpxError('ERR_PEER_REFUSED', `iperf3: ${String(document.error)}${advice}`);
  }
  const end = field(document, 'end');
  const received = field(end, 'sum_received');
  const bytesPerSecond = numberOf(field(received, 'bits_per_second')) / 8;
  const cpu = field(end, 'cpu_utilization_percent');
  const busy = (numberOf(field(cpu, 'host_total')) + numberOf(field(cpu, 'remote_total'))) / 100;
  return { bytesPerSecond, cpuSecondsPerGB: busy / (bytesPerSecond / 1e9) };
}

function documentOf(output: ProgramOutput): unknown {
  try {
    return JSON.parse(output.stdout); // checked: field by field by whoever reads it
  } catch (error) {
    const [line = ''] = reasonOf(output).split('\n');
    const text = `iperf3: no document, but ${JSON.stringify(line)}`;
    throw new TcpxError('ERR_PEER_REFUSED', text, { cause: error });
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value === 'object' && value !== null && name in value) {
    return (value as Record<string, unknown>)[name];
  }
  throw new TcpxError('ERR_PEER_REFUSED', `iperf3 output has no ${name}`);
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw new TcpxError('ERR_PEER_REFUSED', 'iperf3 output: a number is missing');
}
