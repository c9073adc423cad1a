// The file behind a channel's shared memory: private, gone at once, refused unless it is the one.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { type TestContext, test } from 'node:test';
import { withCode } from '../../../../test/support/expect-error.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import { createShm, isAnswered, openShm, shmPath, unlinkShm } from './shm-file.js';
import { NONCE_AT, SHM_BYTES } from './shm-layout.js';

const refused = withCode('ERR_CAP_SHARED_MEMORY', /\/dev\/shm\/tcpx-/);
const answer = randomBytes(32);

function make(t: TestContext) {
  const nonce = randomBytes(32);
  const link = createShm(nonce);
  t.after(() => {
    unlinkShm(nonce);
    link.unmap();
  });
  return { nonce, link, path: shmPath(nonce) };
}

test('shm file: for its owner alone, and without a name once the server has it', (t) => {
  const { nonce, link, path } = make(t);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(path).size, SHM_BYTES);
  assert.ok(!isAnswered(link, answer));
  const server = openShm(nonce, answer);
  assert.ok(isAnswered(link, answer), 'the same memory');
  assert.ok(!existsSync(path));
  assert.throws(() => openShm(nonce, answer), refused, 'there is no second time');
  server.unmap();
});

test('shm file: absent, as on another host, is refused', () => {
  assert.throws(() => openShm(randomBytes(32), answer), refused);
});

test('shm file: one that exists already is not taken over', (t) => {
  const { nonce, path } = make(t);
  assert.throws(() => createShm(nonce), refused);
  assert.ok(existsSync(path), 'and left to its owner');
});

const CHANGES: Readonly<Record<string, (path: string, addr: number) => void>> = {
  'another nonce inside': (_path, addr) => {
    const { uint8 } = openFixedMemory(addr, 4096);
    uint8[NONCE_AT] = (uint8[NONCE_AT] ?? 0) ^ 1;
  },
  'another magic': (_path, addr) => {
    openFixedMemory(addr, 4096).uint32[0] = 7;
  },
  'another version': (_path, addr) => {
    openFixedMemory(addr, 4096).uint32[1] = 99;
  },
  'another ring size': (_path, addr) => {
    openFixedMemory(addr, 4096).uint32[2] = 1 << 30;
  },
  'readable by others': (path) => chmodSync(path, 0o644),
  'shorter than it should be': (path) => truncateSync(path, SHM_BYTES - 4096),
  'longer than it should be': (path) => truncateSync(path, SHM_BYTES + 1),
};

for (const [what, change] of Object.entries(CHANGES)) {
  test(`shm file: ${what} is refused`, (t) => {
    const { nonce, link, path } = make(t);
    change(path, link.addr);
    assert.throws(() => openShm(nonce, answer), refused);
  });
}

test('shm file: a link, a directory entry of another name, or a device is refused', (t) => {
  const { path } = make(t);
  const other = randomBytes(32);
  t.after(() => unlinkShm(other));
  symlinkSync(path, shmPath(other));
  assert.throws(() => openShm(other, answer), refused);
  unlinkSync(shmPath(other));
  linkSync(path, shmPath(other));
  assert.throws(() => openShm(other, answer), refused, 'its nonce is another');
  unlinkSync(shmPath(other));
  writeFileSync(shmPath(other), 'short', { mode: 0o600 });
  assert.throws(() => openShm(other, answer), refused);
});

test('shm file: one that belongs to another user is refused', (t) => {
  if (process.geteuid?.() !== 0) {
    t.skip('needs root, to give a file away');
    return;
  }
  const { nonce, path } = make(t);
  chownSync(path, 65_534, 65_534);
  assert.throws(() => openShm(nonce, answer), refused);
});
