import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WatchRates } from '../../host/watch/watch-rates.js';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import { runTcpx } from '../../../test/support/run-tcpx.js';
import { removeTreeFolder, writeTreeFolder } from '../../../test/support/tree-folder.js';

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
    assert.equal(line.schema, 'tcpx.watch/1');
    assert.ok(line.intervalMs >= 45, `${line.intervalMs} ms`);
    assert.equal(typeof line.nics['lo']?.totals['rx_bytes'], 'number');
    assert.equal(typeof line.tcp['RetransSegs'], 'number');
  }
});

test('watch: tables of an A3-high tree, devmem packets among the columns', () => {
  const root = writeTreeFolder(a3HighTree());
  try {
    const run = runTcpx(['watch', '--root', root, '--count', '1', '--interval-ms', '50']);
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stderr, /rx_devmem_pkts\/s/);
    assert.match(run.stderr, /^eth4 /m);
    assert.match(run.stderr, /TCP retransmits\/s 0/);
  } finally {
    removeTreeFolder(root);
  }
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
