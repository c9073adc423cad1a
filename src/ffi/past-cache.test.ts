import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { isMapped } from '../../test/support/process-resources.js';
import { fillPattern, findMismatch } from '../base/pattern.js';
import { seededRandom } from '../base/random.js';
import { mapMemory, unmapMemory, viewMapping } from './libc/mapping.js';
import { PAST_CACHE_X64, pastCacheCode, pastCacheCopy } from './past-cache.js';

const SOURCE = fileURLToPath(new URL('../../../native/copy/past-cache-x64.S', import.meta.url));
const MODULE = new URL('./past-cache.js', import.meta.url).href;
const ROOM = 64 * 1024;
const BLANK = 0xee;

test('past cache: every x86-64 host has it', () => {
  assert.equal(pastCacheCode() !== undefined, process.arch === 'x64');
});

test('past cache: any length from anywhere to anywhere, and not a byte beside it', (t) => {
  const memory = mapMemory(2 * ROOM);
  t.after(() => unmapMemory(memory));
  const bytes = new Uint8Array(viewMapping(memory));
  const copy = pastCacheCopy();
  const random = seededRandom(20_261_119);
  const [source, target] = [bytes.subarray(0, ROOM), bytes.subarray(ROOM)];
  fillPattern(source, 7, 0);
  for (let round = 0; round < 2000; round++) {
    const length = random.nextBetween(0, round % 2 === 0 ? 200 : 20_000);
    const [from, to] = [random.nextBetween(0, 4095), random.nextBetween(1, 4096)];
    target.fill(BLANK);
    copy(memory.addr + ROOM + to, memory.addr + from, length);
    const what = `${length} bytes from ${from} to ${to}`;
    assert.equal(findMismatch(target.subarray(to, to + length), 7, from), -1, what);
    assert.equal(target[to - 1], BLANK, what);
    const behind = target.subarray(to + length, to + length + 128);
    assert.ok(
      behind.every((byte) => byte === BLANK),
      what,
    );
  }
});

test('past cache: a thread that ends leaves no code behind', async () => {
  const program = `
    import { parentPort } from 'node:worker_threads';
    const { pastCacheCode, unmapPastCache } = await import(${JSON.stringify(MODULE)});
    const addr = pastCacheCode()?.addr;
    unmapPastCache();
    parentPort.postMessage(addr);
  `;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(program)}`));
  const addr = await new Promise<number | undefined>((resolve, reject) => {
    worker.once('message', resolve).once('error', reject);
  });
  assert.equal(addr !== undefined, process.arch === 'x64');
  assert.ok(addr === undefined || !isMapped(addr));
});

test('past cache: the bytes that are carried are those of the source', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'past-cache-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [object, code] = [join(folder, 'copy.o'), join(folder, 'copy.bin')];
  const steps = [
    ['cc', '-c', SOURCE, '-o', object],
    ['objcopy', '-O', 'binary', '-j', '.text', object, code],
  ] as const;
  if (process.arch !== 'x64') {
    t.skip('the source is for x86-64');
    return;
  }
  for (const [program, ...words] of steps) {
    const { error, status, stderr } = spawnSync(program, words, { encoding: 'utf8' });
    if (error !== undefined) {
      t.skip(`no ${program}: ${error.message}`);
      return;
    }
    assert.equal(status, 0, stderr);
  }
  assert.equal(readFileSync(code).toString('hex'), PAST_CACHE_X64);
});
