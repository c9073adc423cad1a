import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { loadConfig } from '../base/config.js';
import type { SettingValues } from '../base/settings.js';
import { attachProof, isSameProof, loadTrust } from './trust.js';

const folder = mkdtempSync(join(tmpdir(), 'tcpx-trust-'));
after(() => rmSync(folder, { recursive: true }));

function trustOf(options: Partial<SettingValues>) {
  return loadTrust(loadConfig({ options, environment: {} }).values);
}

function secretFile(text: string, mode: number): string {
  const path = join(folder, `secret-${mode.toString(8)}-${text.length}`);
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
}

const SECRET = new TextEncoder().encode('a secret of sixteen bytes');

test('trust: loopback by default, the network when asked for, a secret when given', () => {
  assert.deepEqual([trustOf({}).name, trustOf({}).acceptsNetwork], ['loopback', false]);
  const network = trustOf({ 'trust.mode': 'network' });
  assert.deepEqual([network.name, network.acceptsNetwork], ['network', true]);
  const secret = trustOf({ 'trust.secret': '0123456789abcdef' });
  assert.deepEqual([secret.name, secret.acceptsNetwork], ['secret', true]);
});

test('trust: a secret file must be private, readable and long enough', () => {
  const good = secretFile('0123456789abcdef\n', 0o600);
  assert.equal(
    new TextDecoder().decode(trustOf({ 'trust.secretFile': good }).secret.reveal()).length,
    16,
  );
  const cases: [string, RegExp][] = [
    [secretFile('0123456789abcdef', 0o644), /chmod 600/],
    [secretFile('short', 0o600), /16 bytes/],
    [join(folder, 'missing'), /not readable/],
    // Whoever names a file wants proofs: an empty one must not mean "no secret".
    [secretFile('', 0o600), /16 bytes/],
    [secretFile(' \n', 0o600), /16 bytes/],
    [secretFile('x'.repeat(5000), 0o600), /at most 4096/],
    [folder, /not a regular file/],
  ];
  for (const [path, text] of cases) {
    const load = () => trustOf({ 'trust.secretFile': path });
    assert.throws(load, withCode('ERR_CONFIG_VALUE', text));
  }
});

test('trust: a pipe or a device is refused as a secret file, at once', () => {
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', ['-m', '600', pipe]);
  for (const path of [pipe, '/dev/zero', '/dev/tty']) {
    const startMs = performance.now();
    const load = () => trustOf({ 'trust.secretFile': path });
    assert.throws(load, withCode('ERR_CONFIG_VALUE', /not a regular file|not readable/));
    assert.ok(performance.now() - startMs < 1000, path);
  }
});

test('trust: a secret file of another user is refused', (t) => {
  if (process.getuid?.() !== 0) {
    t.skip('needs root, to give a file away');
    return;
  }
  const path = secretFile('0123456789abcdef0', 0o600);
  chownSync(path, 65534, 65534);
  const load = () => trustOf({ 'trust.secretFile': path });
  assert.throws(load, withCode('ERR_CONFIG_VALUE', /belongs to user 65534/));
});

test('trust: an attach proof depends on session, channel, epoch, nonce and direction', () => {
  const attach = { sessionId: 1, channelIndex: 2, epoch: 3, nonce: new Uint8Array(32) };
  const proofs = [
    attachProof(SECRET, 'attach', attach),
    attachProof(SECRET, 'attached', attach),
    attachProof(SECRET, 'attach', { ...attach, sessionId: 12, channelIndex: 2 }),
    attachProof(SECRET, 'attach', { ...attach, sessionId: 1, channelIndex: 22 }),
    attachProof(SECRET, 'attach', { ...attach, epoch: 4 }),
    attachProof(SECRET, 'attach', { ...attach, nonce: new Uint8Array(32).fill(1) }),
  ];
  assert.equal(new Set(proofs.map((proof) => Buffer.from(proof).toString('hex'))).size, 6);
});

test('trust: proofs of another length are different, not an exception', () => {
  assert.ok(!isSameProof(new Uint8Array(31), new Uint8Array(32)));
  assert.ok(!isSameProof(new Uint8Array(32).fill(1), new Uint8Array(32)));
});
