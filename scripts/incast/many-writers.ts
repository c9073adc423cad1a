// N initiators write to one target: total rate, how equal the shares are, memory, false alarms.

import { readFileSync } from 'node:fs';
import { MIB, openEngine, Target, writeUntil } from './target.js';

const BLOCK_BYTES = 8 * MIB;

export const WRITERS_HEAD = [
  'initiators',
  'GB/s',
  'share, least … most of the mean',
  'channels given up',
  'kernel TCP MiB, most',
  'target resident MiB',
];

/** Kernel memory of all TCP sockets, in MiB. */
function tcpMemoryMiB(): number {
  const pages = /TCP:.* mem (\d+)/.exec(readFileSync('/proc/net/sockstat', 'utf8'))?.[1];
  return Math.round((Number(pages ?? 0) * 4096) / MIB);
}

export async function measureWriters(count: number, seconds: number): Promise<string[]> {
  const target = await Target.open(Array.from({ length: count }, () => BLOCK_BYTES));
  let alarms = 0;
  // One engine with a session per initiator would share windows; each has its own.
  const engines = await Promise.all(
    Array.from({ length: count }, () => openEngine({ 'lane.progress': 'caller' }, () => alarms++)),
  );
  let kernelMiB = 0;
  const sampler = setInterval(() => (kernelMiB = Math.max(kernelMiB, tcpMemoryMiB())), 50);
  const requests = await Promise.all(
    engines.map((engine, index) => target.prepareWrite(engine, index)),
  );
  const startMs = performance.now();
  const endMs = startMs + seconds * 1000;
  const bytes = await Promise.all(
    requests.map((request) => writeUntil(endMs, request, BLOCK_BYTES)),
  );
  const spentMs = performance.now() - startMs;
  clearInterval(sampler);
  const { alarms: targetAlarms, residentMiB } = await target.end();
  const total = bytes.reduce((sum, one) => sum + one, 0);
  const mean = total / count;
  const gigabytes = (total / spentMs / 1e6).toFixed(2);
  const least = (Math.min(...bytes) / mean).toFixed(2);
  const most = (Math.max(...bytes) / mean).toFixed(2);
  await Promise.all(engines.map((engine) => engine.close()));
  const cells = [count, gigabytes, `${least} … ${most}`, alarms + targetAlarms];
  return [...cells, kernelMiB, residentMiB].map(String);
}
