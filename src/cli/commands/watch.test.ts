import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { runTcpx } from '../../../test/support/run-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../../test/support/tree-folder.js';
import { until } from '../../../test/support/until.js';
import type { WatchRates } from '../../host/watch/watch-rates.js';
import { formatWatch, screenRows } from '../watch-text.js';
import { nextReadingMs } from './watch.js';

const PROGRAM = fileURLToPath(new URL('../../../../bin/tcpx.js', import.meta.url));

test('watch: JSON lines, as many as asked for', () => {
  const words = ['watch', '--json', '--count', '3', '--interval-ms', '50', '--nics', 'lo', '--cpu'];
  const run = runTcpx(words);
  assert.equal(run.status, 0, run.stderr);
  const lines = run.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as WatchRates);
  assert.equal(lines.length, 3);
  for (const line of lines) {
    assert.equal(line.schema, 'tcpx.watch/2');
    // The grid leaves half an interval at least; timers fire a millisecond early.
    assert.ok(line.intervalMs >= 24, `${line.intervalMs} ms`);
    assert.equal(typeof line.nics['lo']?.rates['rx_bytes'], 'number');
    assert.equal(typeof line.tcpRates['RetransSegs'], 'number');
  }
});

test('watch: readings keep to a grid, and never follow within half an interval', () => {
  const cases = [
    { name: 'in time', due: 1000, now: 1001, next: 1500 },
    { name: 'a slow reading does not stretch the interval', due: 1000, now: 1200, next: 1500 },
    { name: 'half an interval is left', due: 1000, now: 1250, next: 1500 },
    { name: 'less: anew from now', due: 1000, now: 1251, next: 1751 },
    { name: 'far too late: anew, no burst to catch up', due: 1000, now: 9000, next: 9500 },
  ];
  for (const { name, due, now, next } of cases) {
    assert.equal(nextReadingMs(due, now, 500), next, name);
  }
});

test('watch: tables of an A3-high tree, devmem packets among the columns', () => {
  const root = writeTreeFolder(a3HighTree());
  try {
    const run = runTcpx(['watch', '--root', root, '--count', '1', '--interval-ms', '50']);
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stdout, /rx_devmem_pkts\/s/);
    assert.match(run.stdout, /^eth4 /m);
    assert.match(run.stdout, /TCP retransmits\/s 0/);
  } finally {
    removeTreeFolder(root);
  }
});

test('watch: JSON tells totals and rates apart', () => {
  const run = runTcpx(['watch', '--json', '--count', '1', '--interval-ms', '50', '--nics', 'lo']);
  const line = JSON.parse(run.stdout) as WatchRates;
  const total = Number(/^\s*lo:\s*(\d+)/m.exec(readFileSync('/proc/net/dev', 'utf8'))?.[1]);
  assert.ok((line.nics['lo']?.totals['rx_bytes'] ?? Infinity) <= total);
  assert.equal(line.nics['lo']?.linkPercent.rx, null, 'loopback has no speed');
});

test('watch: Ctrl-C ends it at once, with the averages', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-watch-'));
  const file = join(folder, 'watch.jsonl');
  const words = ['watch', '--interval-ms', '60000', '--nics', 'lo', '--record', file];
  const child = spawn(process.execPath, [PROGRAM, ...words], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  // The first reading is kept: from then on it waits for the next.
  await until('first reading', 60_000, () => existsSync(file) && readFileSync(file, 'utf8') !== '');
  const sentMs = performance.now();
  child.kill('SIGINT');
  const [status] = (await ended) as [number | null];
  assert.equal(status, 0);
  assert.ok(performance.now() - sentMs < 30_000, 'not after the interval of a minute');
  rmSync(folder, { recursive: true });
});

test('watch: recorded readings are shown again, with averages at the end', () => {
  const root = writeTreeFolder(a3HighTree());
  const file = join(root, 'watch.jsonl');
  try {
    const live = ['watch', '--root', root, '--count', '2', '--interval-ms', '50', '--queues'];
    const first = runTcpx([...live, '--record', file]);
    assert.equal(first.status, 0, first.stderr);
    const again = runTcpx(['watch', '--replay', file]);
    assert.equal(again.stdout, first.stdout);
    assert.match(again.stdout, /^averages over \d+\.\d s$/m);
    assert.match(again.stdout, /^eth1 rx +0 +0\.000 /m, 'a row per NIC and direction');
    writeFileSync(file, '{"schema":"other"}\n');
    const wrong = runTcpx(['watch', '--replay', file]);
    assert.equal(wrong.status, 2);
    assert.match(wrong.stderr, /line 1 is no sample/);
  } finally {
    removeTreeFolder(root);
  }
});

test('watch: rows of a screen, not lines, are drawn over; cut tables say so', () => {
  assert.equal(screenRows('abc\n', 80), 1);
  assert.equal(screenRows(`${'x'.repeat(161)}\ny\n`, 80), 4);
  assert.equal(screenRows('a\n\nb\n', 80), 3);
  const cpus = Array.from({ length: 20 }, (_, cpu) => ({
    ...{ cpu, busyPercent: cpu, irqPercent: 0, softirqPercent: 0 },
  }));
  const text = formatWatch({
    ...{ schema: 'tcpx.watch/2', time: '', intervalMs: 500, nics: {} },
    ...{ tcpRates: {}, softnetRates: {}, cpus },
  });
  assert.match(text, /and 4 more rows; --json has all/);
});

test('watch: unknown interfaces and bad numbers are usage errors', () => {
  for (const words of [
    ['--nics', 'none0'],
    ['--count', '0'],
    ['--interval-ms', 'soon'],
  ]) {
    const run = runTcpx(['watch', ...words]);
    assert.equal(run.status, 2, run.stderr);
    assert.match(run.stderr, /^ERR_USAGE_ARGUMENT/);
  }
});
