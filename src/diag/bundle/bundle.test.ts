import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { isTcpxError } from '../../base/errors.js';
import { labelOf, latestBundle, makeBundleFolder, requireLabel } from './bundle-folder.js';
import { BundleWriter } from './bundle-writer.js';
import { CommandLog } from './command-log.js';
import { safeVariables, safeWords } from './safe-variables.js';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tcpx-bundle-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const STAMP = '20251007_120000';

test('bundle folder: label and time in its name, its user’s alone, made anew', () => {
  const parent = join(folder, 'a', 'diagnostics');
  const first = makeBundleFolder(parent, 'nccl', STAMP);
  const second = makeBundleFolder(parent, 'nccl', STAMP);
  assert.equal(first, join(parent, `nccl_${STAMP}`));
  assert.equal(second, join(parent, `nccl_${STAMP}_2`));
  assert.equal(statSync(first).mode & 0o777, 0o700);
  assert.equal(latestBundle(parent), second);
  const later = makeBundleFolder(parent, 'bench', '20251007_120001');
  mkdirSync(join(parent, 'zzz'));
  assert.equal(latestBundle(parent), later);
  assert.equal(latestBundle(join(folder, 'absent')), undefined);
});

test('bundle folder: a label cannot climb out', () => {
  for (const label of ['../x', 'a/b', '', '.hidden', 'x\n']) {
    assert.throws(
      () => requireLabel(label),
      (e) => isTcpxError(e, 'ERR_USAGE_ARGUMENT'),
      label,
    );
  }
  assert.equal(labelOf('/usr/bin/iperf3'), 'iperf3');
  assert.equal(labelOf('./..'), 'run');
  assert.equal(requireLabel(labelOf('a b\n')), 'a_b_');
});

test('bundle writer: 0600, no overwriting, no following of links', () => {
  const writer = new BundleWriter(folder, 1000);
  assert.ok(writer.write('a.txt', 'hello'));
  assert.equal(statSync(join(folder, 'a.txt')).mode & 0o777, 0o600);
  symlinkSync('/etc/hostname', join(folder, 'b.txt'));
  assert.equal(writer.write('b.txt', 'x'), false);
  assert.match(writer.problem ?? '', /b\.txt: EEXIST/);
});

test('bundle writer: the limit holds, and the last part is kept for the end', () => {
  const writer = new BundleWriter(folder, 1600);
  assert.ok(writer.write('a.txt', 'x'.repeat(1500)));
  assert.equal(writer.write('b.txt', 'y'), false);
  assert.equal(writer.problem, undefined);
  writer.beginFinal();
  assert.ok(writer.write('SUMMARY.txt', 'z'.repeat(100)));
  assert.equal(writer.write('more.txt', 'z'), false);
});

test('bundle writer: a full disk ends the collection with its reason, and nothing throws', () => {
  let left = 6;
  const writer = new BundleWriter(folder, 1000, (_fd, bytes) => {
    const count = Math.min(left, bytes.length);
    left -= count;
    if (count === 0) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    return count;
  });
  const log = new CommandLog(writer.open('log'), 100);
  log.add(Buffer.from('abcd'));
  log.add(Buffer.from('efgh'));
  log.close();
  assert.equal(writer.problem, 'log: no space left on the disk');
  assert.equal(writer.open('other'), undefined);
});

test('command log: the beginning and always the end', () => {
  const writer = new BundleWriter(folder, 16 * 1024 * 1024);
  const log = new CommandLog(writer.open('log'), 1024 * 1024);
  log.add(Buffer.from('begin\n'));
  for (let count = 0; count < 40; count++) log.add(Buffer.alloc(64 * 1024, 65 + (count % 26)));
  log.add(Buffer.from('Avg bus bandwidth : 1\n'));
  log.close();
  const text = readFileSync(join(folder, 'log'), 'utf8');
  assert.ok(text.startsWith('begin\n'));
  assert.ok(text.endsWith('Avg bus bandwidth : 1\n'));
  assert.match(text, /\[tcpx: \d+ bytes are left out here\]/);
  assert.ok(text.length < 1.4 * 1024 * 1024);
});

test('safe variables: only those of a run, none that names a secret', () => {
  const kept = safeVariables({
    NCCL_ALGO: 'Ring',
    NIXL_TCPX_TRUST_SECRET: 'abc',
    NIXL_TCPX_NIXL_ETCD_ENDPOINTS: 'http://me:pw@host:1/x',
    AWS_SESSION_TOKEN: 'x',
    HOME: '/root',
    CUDA_VISIBLE_DEVICES: '0',
  });
  assert.deepEqual(kept, {
    CUDA_VISIBLE_DEVICES: '0',
    NCCL_ALGO: 'Ring',
    NIXL_TCPX_NIXL_ETCD_ENDPOINTS: 'http://[hidden]@host:1/x',
  });
  assert.deepEqual(
    safeWords(['run', '--secret', 'abc', '--api-key=k', '-x', 'A_TOKEN=t', '--n=1']),
    [...['run', '--secret', '[hidden]', '--api-key=[hidden]', '-x', 'A_TOKEN=[hidden]', '--n=1']],
  );
});
