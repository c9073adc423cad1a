// A figure that another program gives for the same work on the same machine.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { TcpxError } from '../../base/errors.js';

export interface PeerFigure {
  /** Bytes per second, where the tool measures bandwidth. */
  readonly bytesPerSecond?: number;
  /** Half a round trip, where it measures latency. */
  readonly halfTripUs?: number;
  /** CPU time of both ends per 10^9 bytes, where the tool tells. */
  readonly cpuSecondsPerGB?: number;
}

export interface ProgramOutput {
  /** Where figures are. */
  readonly stdout: string;
  /** Warnings, and at times the reason why there are none. */
  readonly stderr: string;
}

export interface RunningProgram {
  readonly pid: number | undefined;
  /** What it has printed, once it has ended well. */
  readonly finished: Promise<ProgramOutput>;
  kill(): void;
}

const PROGRAM_TIMEOUT_MS = 120_000;

/** `stop` kills it; a missing program is ERR_CAP_MISSING_TOOL naming its package. */
export function startProgram(
  words: readonly string[],
  packageName: string,
  environment: Readonly<Record<string, string>>,
  base: Readonly<Record<string, string | undefined>>,
  stop?: AbortSignal,
): RunningProgram {
  const [program = '', ...rest] = words;
  const child = spawn(program, rest, { env: { ...base, ...environment } });
  keepWatch(child);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      output[name] += chunk.toString();
    });
  }
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(kill, PROGRAM_TIMEOUT_MS);
  stop?.addEventListener('abort', kill);
  const finished = (async () => {
    try {
      const [code] = (await once(child, 'close')) as [number | null];
      if (code === 0) return output;
      if (stop?.aborted === true) throw new TcpxError('ERR_XFER_CANCELLED', `${program}: stopped`);
      throw new TcpxError(
        'ERR_PEER_LOST',
        `${words.join(' ')}: exit ${String(code)}: ${reasonOf(output)}`,
      );
    } catch (error) {
      if (error instanceof TcpxError) throw error;
      const advice = `install the package ${packageName}`;
      throw new TcpxError('ERR_CAP_MISSING_TOOL', `${program}: not found; ${advice}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      stop?.removeEventListener('abort', kill);
    }
  })();
  finished.catch(() => undefined);
  return { pid: child.pid, finished, kill };
}

/** The words of one that has no figures: its errors first. */
export function reasonOf({ stdout, stderr }: ProgramOutput): string {
  return `${stderr.trim()}\n${stdout.trim()}`.trim();
}

/** None may outlive this process, whichever way it ends: servers among them wait for ever. */
const living = new Set<ChildProcess>();
const SIGNALS = ['SIGTERM', 'SIGHUP'] as const;

function keepWatch(child: ChildProcess): void {
  if (living.size === 0) {
    process.on('exit', endLiving);
    for (const signal of SIGNALS) process.on(signal, endBySignal);
  }
  living.add(child);
  const forget = (): void => {
    if (living.delete(child) && living.size === 0) leaveWatch();
  };
  child.once('exit', forget);
  child.once('error', forget);
}

function leaveWatch(): void {
  process.off('exit', endLiving);
  for (const signal of SIGNALS) process.off(signal, endBySignal);
}

function endLiving(): void {
  for (const child of living) child.kill('SIGKILL');
}

function endBySignal(signal: NodeJS.Signals): void {
  endLiving();
  leaveWatch();
  // What the signal does without us; somebody else who listens decides for himself.
  if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
}
