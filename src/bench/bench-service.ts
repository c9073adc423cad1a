// An engine that plays the target for whoever connects.

import type { Config } from '../base/config.js';
import type { Log } from '../base/log.js';
import { Engine } from '../engine/internal.js';
import type { BenchReport } from './bench-message.js';
import { BenchTarget } from './bench-target.js';
import { readHostFacts } from './host-facts.js';
import { measuredPath } from './measured-path.js';

export interface BenchService {
  readonly port: number;
  /** Resolves when all initiators that were expected have finished. */
  readonly finished: Promise<void>;
  close(): Promise<void>;
}

export interface BenchServiceOptions {
  readonly config: Config;
  readonly log: Log;
  readonly port?: number;
  onReport?(peer: string, report: BenchReport): void;
}

export async function openBenchService(options: BenchServiceOptions): Promise<BenchService> {
  const { log } = options;
  const config = measuredPath(options.config);
  let resolveFinished: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => {
    resolveFinished = resolve;
  });
  const target = new BenchTarget({
    engine: () => engine,
    host: readHostFacts(config.values['socket.congestion']),
    log,
    gpu: config.values['bench.gpu'],
    pages: config.values['bench.pages'],
    clients: config.values['bench.initiators'],
    onReport: (peer, report) => options.onReport?.(peer, report),
    onFinished: () => resolveFinished(),
  });
  const engine: Engine = await Engine.open({
    name: 'bench-target',
    config,
    log,
    ...gpuOf(config),
    onSession: (session) => target.onSession(session),
    onNotification: ({ session, bytes }) => target.onNotification(session, bytes),
  });
  const port = await listenOrClose(engine, options.port);
  const stopPolling = config.values['lane.progress'] === 'caller' ? pollForever(engine) : undefined;
  return {
    port,
    finished,
    close: async () => {
      stopPolling?.();
      await engine.close();
    },
  };
}

/** Its NICs are the plugin's default, whichever memory is moved: both ends come to as many. */
export function gpuOf({ values }: Config): { readonly gpu: number } {
  return { gpu: values['bench.gpu'] };
}

// The lanes of an engine that cannot listen would keep the process alive.
async function listenOrClose(engine: Engine, port: number | undefined): Promise<number> {
  try {
    return engine.listen(port === undefined ? {} : { port });
  } catch (error) {
    await engine.close();
    throw error;
  }
}

const POLLS_PER_TURN = 2000;

// Where callers drive, a target moves only while it polls: this one does nothing else, but lets
// the event loop have a turn now and then.
function pollForever(engine: Engine): () => void {
  let isRunning = true;
  const turn = (): void => {
    for (let count = 0; count < POLLS_PER_TURN && isRunning; count++) engine.poll();
    if (isRunning) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isRunning = false;
  };
}
