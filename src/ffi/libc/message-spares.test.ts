// Tables of closed connections that wait for the next ones: as many as are allowed, by the setting,
// in every thread.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../../test/support/engine-pair.js';
import { sleepMs } from '../../base/clock.js';
import { createIovTable, destroyIovTable, limitSpareTables, unmapSpareTables } from './message.js';

after(closeEngines);

const MARK = 0x5a5a5a5a;
const MARK_WORD = 1000;

/** How many of ten tables are kept: those bear the mark of the owner before. */
function keptOfTen(): number {
  unmapSpareTables();
  const first = Array.from({ length: 10 }, createIovTable);
  for (const table of first) table.words[MARK_WORD] = MARK;
  first.forEach(destroyIovTable);
  const second = Array.from({ length: 10 }, createIovTable);
  const kept = second.filter(({ words }) => words[MARK_WORD] === MARK).length;
  limitSpareTables(0);
  second.forEach(destroyIovTable);
  return kept;
}

test('spare tables: as many as allowed are kept, the others are unmapped', () => {
  for (const most of [0, 3, 10, 1024]) {
    limitSpareTables(most);
    assert.equal(keptOfTen(), Math.min(most, 10));
  }
});

test('spare tables: memory.spareTables is the limit where callers drive', async () => {
  const settings = { 'lane.progress': 'caller', 'memory.spareTables': 4 } as const;
  const engine = await openEngine(settings);
  assert.equal(keptOfTen(), 4);
  await engine.close();
});

/**
 * Bytes of low address space that become free when 16 sessions of 16 channels end. Lanes unmap
 * behind the end of a session: waits until so many are free, or for some time.
 */
async function freedBytes(spareTables: number, wanted: number, waitMs: number): Promise<number> {
  const settings = { 'memory.spareTables': spareTables, 'flow.channels': 16, 'lane.count': 1 };
  const server = await openEngine(settings);
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const client = await openEngine(settings);
  for (let count = 0; count < 16; count++) await client.connect('127.0.0.1', port);
  const sessions = [...client.sessions, ...server.sessions];
  const before = lowBytes();
  await Promise.all(sessions.map((session) => session.close()));
  const stopAtMs = performance.now() + waitMs;
  while (before - lowBytes() < wanted && performance.now() < stopAtMs) await sleepMs(20);
  const freed = before - lowBytes();
  await client.close();
  await server.close();
  return freed;
}

/** Tables lie below 4 GiB, where nothing of Node's own comes and goes meanwhile. */
function lowBytes(): number {
  const maps = readFileSync('/proc/self/maps', 'latin1');
  let bytes = 0;
  for (const [, from = '', to = ''] of maps.matchAll(/^([0-9a-f]{1,8})-([0-9a-f]{1,8}) /gm)) {
    bytes += Number.parseInt(to, 16) - Number.parseInt(from, 16);
  }
  return bytes;
}

test('spare tables: memory.spareTables is the limit of a lane thread too', async () => {
  // 512 channels, two tables each, 20 KiB a table; an engine's other memory is the same in both.
  const kept = await freedBytes(4096, Infinity, 500);
  const wanted = kept + (8 << 20);
  const freed = await freedBytes(0, wanted, 10_000);
  assert.ok(freed >= wanted, `${freed} bytes freed without spares, ${kept} with them`);
});
