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

const PROGRESS_MS = 200;
let toldMs = 0;
const stop = new AbortController();
const stopped = once(stop.signal, 'abort');
const [order] = (await once(process, 'message')) as [
  { host: string; port: number; hasProgress: boolean },
];
const go = new Promise<void>((resolve) => {
  process.on('message', ({ kind }: { kind: 'go' | 'stop' }) => {
    if (kind === 'go') resolve();
    else stop.abort();
  });
});
try {
  const result = await runBench({
    config,
    log,
    host: order.host,
    port: order.port,
    stop: stop.signal,
    onProgress: tellProgress,
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

function tellProgress(fraction: number, rate: number): void {
  if (!order.hasProgress || performance.now() - toldMs < PROGRESS_MS) return;
  toldMs = performance.now();
  process.send?.({ kind: 'progress', fraction, rate });
}

/** A document of some 100 KB takes several turns to leave. */
function tell(message: object): Promise<void> {
  return new Promise((resolve) => process.send?.(message, undefined, undefined, () => resolve()));
}
