// One of several initiators that measure at once: started by `bench-group`, ends with it. Its
// settings come from the environment; whom to measure against, and when, from the parent.

import { once } from 'node:events';
import { loadConfig, processEnvironment } from '../base/config.js';
import { isTcpxError } from '../base/errors.js';
import { createLog } from '../base/log.js';
import { nothingMeasured } from './bench-run.js';
import { runBench } from './bench-session.js';

const config = loadConfig({ environment: processEnvironment() });
const { values } = config;
const log = createLog({ level: values['log.level'], format: values['log.format'] });
// The parent is gone, whatever the reason: leave, and let the kernel close what is open.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));

// A terminal tells all processes; the parent says when to stop.
process.on('SIGINT', () => undefined);

/** What it is told first. */
interface BenchOrder {
  readonly host: string;
  readonly port: number;
  readonly hasProgress: boolean;
}

/** What it is told later. */
interface BenchWord {
  readonly kind: 'go' | 'stop';
}

const PROGRESS_MS = 200;
let toldMs = 0;
const stop = new AbortController();
const stopped = once(stop.signal, 'abort');
let start: () => void = () => undefined;
const go = new Promise<void>((resolve) => (start = resolve));
process.once('message', (order: BenchOrder) => {
  process.on('message', ({ kind }: BenchWord) => {
    if (kind === 'go') start();
    else stop.abort();
  });
  void measure(order);
});

async function measure({ host, port, hasProgress }: BenchOrder): Promise<void> {
  try {
    const result = await runBench({
      config,
      log,
      host,
      port,
      stop: stop.signal,
      onProgress: hasProgress ? tellProgress : () => undefined,
      onInterval: (interval) => {
        if (values['bench.intervalSeconds'] > 0) process.send?.({ kind: 'interval', interval });
      },
      onWarm: async () => {
        process.send?.({ kind: 'warm' });
        await Promise.race([go, stopped]);
        if (stop.signal.aborted) throw nothingMeasured();
      },
    });
    await tell({ kind: 'result', result });
  } catch (error) {
    if (!isTcpxError(error)) throw error;
    await tell({ kind: 'failed', code: error.code, message: error.message });
  }
  process.disconnect();
}

function tellProgress(fraction: number, rate: number): void {
  if (performance.now() - toldMs < PROGRESS_MS) return;
  toldMs = performance.now();
  process.send?.({ kind: 'progress', fraction, rate });
}

/** A document of some 100 KB takes several turns to leave. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}
