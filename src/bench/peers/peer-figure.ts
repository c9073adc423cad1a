// A figure that another program gives for the same work on the same machine.

import { spawn } from 'node:child_process';
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

export interface RunningProgram {
  /** Standard output and error together, once it has ended. */
  readonly finished: Promise<string>;
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
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
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
        `${words.join(' ')}: exit ${String(code)}: ${output.trim()}`,
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
  return { finished, kill };
}
