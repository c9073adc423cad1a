// `npm run incast -- [--seconds S] [N…]`: N initiators write to one target for some seconds; the
// table of docs/reliability.md: total rate, how equal the shares are, memory, false alarms.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadConfig } from '../src/base/config.js';
import { createLog } from '../src/base/log.js';
import type { SettingValues } from '../src/base/settings.js';
import { Engine } from '../src/engine/engine.js';
import type { Request } from '../src/engine/session.js';
import type { RegionDescriptor } from '../src/memory/region.js';

const MIB = 1024 * 1024;
const BLOCK_BYTES = 8 * MIB;

interface Target {
  readonly port: number;
  readonly descriptors: readonly RegionDescriptor[];
}

interface TargetEnd {
  readonly alarms: number;
  readonly residentMiB: number;
}

function openEngine(settings: Partial<SettingValues>, onAlarm: () => void): Promise<Engine> {
  const config = loadConfig({ options: settings, environment: {} });
  const write = (line: string): void => {
    if (line.includes('channel')) onAlarm();
  };
  return Engine.open({ config, log: createLog({ level: 'warn', format: 'text', write }) });
}

async function runTarget(count: number): Promise<void> {
  let alarms = 0;
  const engine = await openEngine({ 'session.peersMax': count }, () => alarms++);
  const descriptors = Array.from({ length: count }, () => {
    return engine.register(new Uint8Array(BLOCK_BYTES)).descriptor;
  });
  process.on('message', () => {
    const residentMiB = Math.round(process.memoryUsage().rss / MIB);
    process.send?.({ alarms, residentMiB } satisfies TargetEnd, () => process.exit(0));
  });
  process.send?.({ port: engine.listen({ host: '127.0.0.1', port: 0 }), descriptors });
}

/** Kernel memory of all TCP sockets, in MiB. */
function tcpMemoryMiB(): number {
  const pages = /TCP:.* mem (\d+)/.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1];
  return Math.round((Number(pages ?? 0) * 4096) / MIB);
}

// Writes one block after the other; the sum of what landed.
async function write(request: Request, endMs: number, landed: (bytes: number) => void) {
  while (performance.now() < endMs) {
    await request.post().done;
    landed(BLOCK_BYTES);
  }
}

async function measure(count: number, seconds: number): Promise<string> {
  const child = fork(fileURLToPath(import.meta.url), ['--target', String(count)]);
  const next = <T>(): Promise<T> =>
    new Promise((resolve) => child.once('message', resolve as never));
  const target = await next<Target>();
  let alarms = 0;
  // One engine with a session per initiator would share windows; each has its own.
  const engines = await Promise.all(
    Array.from({ length: count }, () => openEngine({ 'lane.progress': 'caller' }, () => alarms++)),
  );
  const bytes = engines.map(() => 0);
  let kernelMiB = 0;
  const sampler = setInterval(() => (kernelMiB = Math.max(kernelMiB, tcpMemoryMiB())), 50);
  const requests = await Promise.all(
    engines.map(async (engine, index) => {
      const local = engine.register(new Uint8Array(BLOCK_BYTES));
      const session = await engine.connect('127.0.0.1', target.port);
      const remote = target.descriptors[index];
      if (remote === undefined) throw new Error(`no region ${index}`);
      return session.prepare('write', [
        { local, localOffset: 0, remote, remoteOffset: 0, bytes: BLOCK_BYTES },
      ]);
    }),
  );
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  await Promise.all(
    requests.map((request, index) => {
      return write(request, endMs, (landed) => (bytes[index] = (bytes[index] ?? 0) + landed));
    }),
  );
  const spentMs = performance.now() - startMs;
  clearInterval(sampler);
  const ended = next<TargetEnd>();
  child.send('end');
  const { alarms: targetAlarms, residentMiB } = await ended;
  const total = bytes.reduce((sum, one) => sum + one, 0);
  const mean = total / count;
  const gigabytes = (total / spentMs / 1e6).toFixed(2);
  const least = (Math.min(...bytes) / mean).toFixed(2);
  const most = (Math.max(...bytes) / mean).toFixed(2);
  await Promise.all(engines.map((engine) => engine.close()));
  const cells = [count, gigabytes, `${least} … ${most}`, alarms + targetAlarms];
  return `| ${[...cells, kernelMiB, residentMiB].join(' | ')} |`;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seconds: { type: 'string', default: '5' }, target: { type: 'string' } },
});
if (values.target !== undefined) {
  await runTarget(Number(values.target));
} else {
  const counts = positionals.length > 0 ? positionals.map(Number) : [1, 8, 64];
  const head = ['initiators', 'GB/s', 'share, least … most of the mean', 'channels given up'];
  const columns = [...head, 'kernel TCP MiB, most', 'target resident MiB'];
  process.stdout.write(`| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}\n`);
  for (const count of counts) {
    process.stdout.write(`${await measure(count, Number(values.seconds))}\n`);
  }
}
