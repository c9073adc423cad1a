// The commands that read bundles, as a person runs them.

import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { HEALTHY_LOG, writeRunBundle } from '../../test/support/run-bundle.js';
import { runTcpx } from '../../test/support/run-tcpx.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-diag-'));
const healthy = join(folder, 'healthy');
const slow = join(folder, 'slow');
before(() => {
  mkdirSync(healthy);
  mkdirSync(slow);
  writeRunBundle(healthy);
  const log = HEALTHY_LOG.map((line) => line.replace('GPUDirectTCPX_v7/1/', 'GPUDirectTCPX_v7/0/'));
  const escape = 'node-a:1:1 [0] NCCL WARN invalid range \u001b[2J\u202e';
  const slower = [...log.map((line) => line.replaceAll('19.66', '9.66')), escape];
  writeRunBundle(slow, { log: slower, environment: { NCCL_ALGO: 'Tree' } });
});
after(() => rmSync(folder, { recursive: true }));

test('diag analyze: a healthy bundle is good, another is not, with the reason first', () => {
  const good = runTcpx(['diag', 'analyze', healthy]);
  assert.equal(good.status, 0, good.stdout);
  assert.match(good.stdout, /nothing found that holds this run back/);
  const bad = runTcpx(['diag', 'analyze', slow, '--json']);
  assert.equal(bad.status, 1);
  const { analyses } = JSON.parse(bad.stdout) as { analyses: { findings: { id: string }[] }[] };
  assert.equal(analyses[0]?.findings[0]?.id, 'channels.one-nic');
});

test('diag analyze: both ends at once, and nothing of a bundle commands the terminal', () => {
  const { stdout } = runTcpx(['diag', 'analyze', healthy, slow, '--all']);
  assert.equal([...stdout.matchAll(/^small-fixture: /gm)].length, 2);
  assert.ok(!stdout.includes('\u001b[2J') && !stdout.includes('\u202e'));
});

test('diag diff: bandwidth, channels and variables of two runs side by side', () => {
  const { status, stdout } = runTcpx(['diag', 'diff', healthy, slow]);
  assert.equal(status, 0);
  assert.match(stdout, /^bandwidth GB\/s +19\.66 +18\.75 +-4\.6 %$/m);
  assert.match(stdout, /^channels by NIC +eth1: 0, eth2: 1 +eth1: 0-1/m);
  assert.match(stdout, /^NCCL_ALGO +not set +Tree/m);
});

test('diag stall: the chunk of one trace that the other never posted', () => {
  const post = (call: string, tag: number) =>
    `${tag} ${tag}.0 ${call} channel=0 chunk=${tag} tag=${tag} bytes=100 ` +
    `offset=${tag * 100} result=0`;
  const done = (tag: number, role: string) =>
    `${tag} ${tag}.0 test channel=0 chunk=${tag} tag=${tag} bytes=100 result=1 role=${role}`;
  const sender = join(folder, 'sender.trace');
  const receiver = join(folder, 'receiver.trace');
  writeFileSync(sender, `${[post('isend', 1), done(1, 'send'), post('isend', 2)].join('\n')}\n`);
  const consumed = post('irecvConsumed', 1);
  writeFileSync(receiver, `${[post('irecv', 1), done(1, 'receive'), consumed].join('\n')}\n`);
  const { status, stdout } = runTcpx(['diag', 'stall', sender, receiver, '--json']);
  assert.equal(status, 1);
  const { stalled } = JSON.parse(stdout) as { stalled: Record<string, unknown>[] };
  assert.equal(stalled.length, 1);
  assert.equal(stalled[0]?.['tag'], '2');
  assert.equal(stalled[0]['offset'], 200);
  assert.equal(stalled[0]['verdict'], 'receiver never posted it');
});

test('nccl: prints where tools are missing, runs where they are, in a bundle on request', () => {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const path = `${bin}${delimiter}/usr/bin${delimiter}/bin`;
  const words = ['nccl', '2', '8', '0', '1', '1', '--nics', 'lo'];
  const printed = runTcpx(words, { PATH: bin }, folder);
  assert.equal(printed.status, 3);
  assert.equal(runTcpx([...words, '--print'], { PATH: bin }, folder).status, 0);
  assert.match(printed.stdout, /^export NCCL_DYNAMIC_CHUNK_SIZE=524288$/m);
  assert.match(printed.stderr, /mpirun and all_reduce_perf not found/);
  for (const name of ['mpirun', 'all_reduce_perf']) {
    writeFileSync(join(bin, name), '#!/bin/sh\necho "chunk $NCCL_DYNAMIC_CHUNK_SIZE"\nexit 6\n');
    chmodSync(join(bin, name), 0o755);
  }
  const ran = runTcpx(words, { PATH: path }, folder);
  assert.equal(ran.status, 6, ran.stderr);
  assert.equal(ran.stdout, 'chunk 524288\n');
  assert.match(readdirSync(join(folder, 'diagnostics'))[0] ?? '', /^nccl_\d{8}_\d{6}$/);
  const plain = runTcpx(['nccl', '2', '8', '0', '1', '--nics', 'lo'], { PATH: path }, folder);
  assert.equal(plain.status, 6);
  assert.equal(readdirSync(join(folder, 'diagnostics')).length, 1);
});

const SAMPLE = fileURLToPath(new URL('../../../test/fixtures/diag-sample', import.meta.url));

test('the sample bundle of the repository: enough files, readable, healthy', () => {
  assert.ok(readdirSync(SAMPLE).length >= 13);
  const { status, stdout } = runTcpx(['diag', 'analyze', SAMPLE]);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /19\.66 GB\/s bus bandwidth/);
});
