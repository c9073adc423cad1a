// One process of a mesh: brings its workers, and does what the conductor says.

import { isTcpxError, TcpxError } from '../../base/errors.js';
import type { BenchResult } from '../bench-result.js';
import type { MeshLink } from './mesh-link.js';
import type { MeshHello, MeshMessage, MeshOrder, MeshWindow } from './mesh-message.js';

/** The workers of one process, wherever they run. */
export interface MeshWorkers {
  /** Resolves when one of them is gone. */
  readonly death: Promise<TcpxError>;
  /** Tells when it is warm, and then waits to be started. */
  measure(round: number, order: MeshOrder, onWarm: () => void): Promise<MeasuredPair>;
  start(round: number): void;
  /** Those that measure end, with what they have so far. */
  stop(): void;
}

export interface MeasuredPair {
  readonly window: MeshWindow;
  readonly result: BenchResult;
}

/** Whether every pair was measured well; rejects with what ended it. */
export async function takePart(
  link: MeshLink,
  hello: MeshHello,
  workers: MeshWorkers,
  stopped: Promise<TcpxError>,
): Promise<boolean> {
  const ended = new Promise<boolean>((resolve, reject) => {
    link.listen((message) => {
      if (message.kind === 'end') resolve(message.ok);
      else if (message.kind === 'failed') reject(new TcpxError(message.code, message.message));
      else obey(link, workers, message);
    });
    void link.ended.then((reason) => {
      reject(new TcpxError('ERR_PEER_LOST', `rank 0 is gone: ${reason.message}`));
    });
  });
  void workers.death.then((error) => tellFailure(link, error, true));
  void stopped.then(({ message }) => link.send({ kind: 'stop', message }));
  await link.send(hello);
  return ended;
}

function obey(link: MeshLink, workers: MeshWorkers, message: MeshMessage): void {
  if (message.kind === 'go') workers.start(message.round);
  if (message.kind === 'stop') workers.stop();
  if (message.kind !== 'round') return;
  for (const order of message.orders) void obeyOrder(link, workers, message.round, order);
}

async function obeyOrder(link: MeshLink, workers: MeshWorkers, round: number, order: MeshOrder) {
  const { worker } = order;
  try {
    const onWarm = () => void link.send({ kind: 'warm', round, worker });
    const measured = await workers.measure(round, order, onWarm);
    await link.send({ kind: 'result', round, worker, ...measured });
  } catch (error) {
    await tellFailure(link, error, false);
  }
}

/** The conductor decides what it means, and tells all. */
export async function tellFailure(link: MeshLink, error: unknown, isCause: boolean): Promise<void> {
  if (!isTcpxError(error)) throw error;
  await link.send({ kind: 'failed', code: error.code, message: error.message, isCause });
}
