// A worker process of a mesh: started by `mesh-workers`, ends with it. Settings come from the
// environment; GPUs, NICs and whom to measure against from the parent.

import { once } from 'node:events';
import { assert, at } from '../../base/assert.js';
import { epochMs } from '../../base/clock.js';
import { type Config, loadConfig, processEnvironment } from '../../base/config.js';
import { isTcpxError } from '../../base/errors.js';
import { createLog } from '../../base/log.js';
import { nothingMeasured } from '../bench-run.js';
import { type BenchService, openBenchService } from '../bench-service.js';
import { runBench } from '../bench-session.js';
import { deriveConfig } from '../derived-config.js';
import { lightResult } from './light-result.js';
import type { MeshOrder } from './mesh-message.js';
import type { WorkerOrder, WorkerWord } from './mesh-workers.js';
import { workerConfig } from './worker-config.js';

const config = loadConfig({ environment: processEnvironment() });
const { values } = config;
const log = createLog({ level: values['log.level'], format: values['log.format'] });
// The parent is gone, whatever the reason: leave, and let the kernel close what is open.
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// A terminal and a launcher tell all processes; the parent says when to stop.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

/** Of each of its workers, once it is told of them. */
let configs: readonly Config[] = [];
/** When the parent has said go, by round. */
const starts = new Map<number, (atMs: number) => void>();
const started = new Map<number, Promise<number>>();
const stop = new AbortController();
const stopped = once(stop.signal, 'abort');
process.once('message', (order: WorkerOrder) => {
  open(order).catch(fail);
});

async function open(order: WorkerOrder): Promise<void> {
  assert(order.kind === 'open', 'a worker process is told its workers first');
  configs = order.workers.map(({ gpu, nic }) => workerConfig(config, gpu, nic));
  const services: BenchService[] = [];
  for (const [worker, { port }] of order.workers.entries()) {
    services.push(await openTarget(worker, port));
  }
  process.on('message', (next: WorkerOrder) => {
    if (next.kind === 'go') starts.get(next.round)?.(epochMs());
    if (next.kind === 'measure') void measure(next);
    if (next.kind === 'stop') stop.abort();
  });
  tell({ kind: 'listening', ports: services.map(({ port }) => port) });
}

function openTarget(worker: number, port: number): Promise<BenchService> {
  return openBenchService({
    config: at(configs, worker),
    log,
    port,
    onReport: (peer, report) => tell({ kind: 'served', worker, peer, report }),
  });
}

/** Over another NIC than the GPU's own: what is near that NIC gathers for it. */
function pairConfig(own: Config, { nic, railGpu }: MeshOrder): Config {
  if (nic === '' || nic === own.values['session.nics']) return own;
  const isFree = own.values['tcpx.railGpus'] === '';
  const rail = isFree ? { 'tcpx.railGpus': `${nic}=${railGpu}` } : {};
  return deriveConfig(own, { 'session.nics': nic, ...rail }, 'mesh');
}

/** Of all workers in this process: made by whoever is first. */
function startOf(round: number): Promise<number> {
  const known = started.get(round);
  if (known !== undefined) return known;
  const start = new Promise<number>((resolve) => starts.set(round, resolve));
  started.set(round, start);
  return start;
}

async function measure({ round, order }: Extract<WorkerOrder, { kind: 'measure' }>): Promise<void> {
  const { worker, host, port } = order;
  const start = startOf(round);
  let startMs = 0;
  try {
    const result = await runBench({
      config: pairConfig(at(configs, worker), order),
      log,
      host,
      port,
      // The target of this worker, and other workers, have their turns on this thread.
      mayBlock: false,
      stop: stop.signal,
      onProgress: () => undefined,
      onWarm: async () => {
        tell({ kind: 'warm', worker });
        await Promise.race([start, stopped]);
        if (stop.signal.aborted) throw nothingMeasured();
        startMs = await start;
      },
    });
    const { fromMs, toMs } = result.window ?? { fromMs: startMs, toMs: startMs };
    const window = { fromMs: fromMs - startMs, toMs: toMs - startMs };
    tell({ kind: 'measured', worker, measured: { window, result: lightResult(result) } });
  } catch (error) {
    fail(error, worker);
  }
}

function tell(word: WorkerWord): void {
  process.send?.(word);
}

function fail(error: unknown, worker?: number): void {
  if (!isTcpxError(error)) throw error;
  const { code, message } = error;
  tell({ kind: 'failed', ...(worker === undefined ? {} : { worker }), code, message });
}
