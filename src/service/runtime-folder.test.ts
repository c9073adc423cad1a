import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { claimFolder, runtimeFolder } from './runtime-folder.js';

const UID = process.getuid?.() ?? 0;

test('runtime folder: the setting, then the session’s, then one in /tmp', () => {
  assert.equal(runtimeFolder('/x', { XDG_RUNTIME_DIR: '/run/user/7' }, 7), '/x');
  assert.equal(runtimeFolder('', { XDG_RUNTIME_DIR: '/run/user/7' }, 7), '/run/user/7/nixl-tcpx');
  assert.equal(runtimeFolder('', {}, 7), '/tmp/nixl-tcpx-7');
});

test('runtime folder: claimed once; what a dead service left is taken away', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-folder-'));
  try {
    writeFileSync(join(folder, 'service.sock'), '');
    const claimed = claimFolder(folder, 4711, UID);
    assert.ok(!existsSync(claimed.socketPath));
    assert.throws(
      () => claimFolder(folder, 1, UID),
      withCode('ERR_SYS_ADDRESS_IN_USE', /process 4711/),
    );
    claimed.release();
    claimFolder(folder, 1, UID).release();
    chmodSync(folder, 0o777);
    assert.throws(() => claimFolder(folder, 1, UID), withCode('ERR_CAP_PERMISSION', /777/));
    assert.throws(() => claimFolder(folder, 1, UID + 1), withCode('ERR_CAP_PERMISSION'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('runtime folder: one that nobody can make is refused by name, and does not hang', () => {
  for (const folder of ['/proc/tcpx/serve', '/dev/null/serve']) {
    assert.throws(() => claimFolder(folder, 1, UID), withCode('ERR_SYS_CALL', /the service, /));
  }
});
