import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { isTcpxError } from '../../base/errors.js';
import type { TreeEntry } from './file-tree.js';
import { openFolderFiles } from './host-files.js';
import { openHost } from './open-host.js';
import { openTreeFiles } from './tree-files.js';

function withFolder(use: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-files-'));
  try {
    use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('files: absence is a gap only where the file is needed', () => {
  withFolder((folder) => {
    const files = openFolderFiles(folder);
    assert.equal(files.read('/proc/none'), undefined);
    assert.deepEqual(files.gaps, []);
    assert.equal(files.need('/proc/none'), undefined);
    assert.deepEqual(files.gaps, [{ path: '/proc/none', reason: 'ENOENT' }]);
  });
});

const NOBODY = 65_534;

// Root reads every file: it becomes nobody for the length of the call.
function withoutRoot(use: () => void): void {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    use();
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test('files: a refused file is always a gap', () => {
  withFolder((folder) => {
    writeFileSync(join(folder, 'secret'), 'x');
    chmodSync(join(folder, 'secret'), 0);
    chmodSync(folder, 0o755);
    withoutRoot(() => {
      const files = openFolderFiles(folder);
      assert.equal(files.read('/secret'), undefined);
      assert.deepEqual(files.gaps, [{ path: '/secret', reason: 'EACCES' }]);
    });
  });
});

test('files: a link in a captured tree does not lead out of it', () => {
  withFolder((folder) => {
    mkdirSync(join(folder, 'tree'));
    writeFileSync(join(folder, 'outside'), 'private');
    symlinkSync('../outside', join(folder, 'tree/inside'));
    symlinkSync('/etc/hostname', join(folder, 'tree/absolute'));
    const files = openFolderFiles(join(folder, 'tree'));
    assert.equal(files.read('/inside'), undefined);
    assert.equal(files.read('/absolute'), undefined);
    assert.equal(files.realPath('/inside'), undefined);
    assert.equal(files.gaps.length, 2);
  });
});

test('files: names sort by number, and a missing folder is empty', () => {
  withFolder((folder) => {
    for (const name of ['rx-10', 'rx-2', 'rx-1']) writeFileSync(join(folder, name), '');
    const files = openFolderFiles(folder);
    assert.deepEqual(files.list('/'), ['rx-1', 'rx-2', 'rx-10']);
    assert.deepEqual(files.list('/none'), []);
  });
});

test('files: a tree in memory follows links, relative, absolute and in a circle', () => {
  const tree = new Map<string, TreeEntry>([
    ['/sys/devices/a/net/eth0/mtu', { kind: 'file', text: '1500\n' }],
    ['/sys/class/net/eth0', { kind: 'link', target: '../../devices/a/net/eth0' }],
    ['/absolute', { kind: 'link', target: '/sys/class/net/eth0' }],
    ['/round', { kind: 'link', target: 'round' }],
  ]);
  const files = openTreeFiles(tree, 'memory');
  assert.equal(files.read('/sys/class/net/eth0/mtu'), '1500\n');
  assert.equal(files.read('/absolute/mtu'), '1500\n');
  assert.equal(files.realPath('/absolute'), '/sys/devices/a/net/eth0');
  assert.equal(files.realPath('/round'), undefined);
  assert.deepEqual(files.list('/sys/devices/a/net'), ['eth0']);
  assert.equal(files.isFolder('/sys/devices'), true);
});

test('files: a root that is not there is a usage error', () => {
  assert.throws(
    () => openHost('/no/such/place'),
    (error) => isTcpxError(error, 'ERR_USAGE_ARGUMENT'),
  );
});
