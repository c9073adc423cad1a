// Wrong files, names and numbers given to the host commands: each one clear line, exit 2 or 3.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { buildHostTree } from '../../test/support/host-tree.js';
import { runTcpx } from '../../test/support/run-tcpx.js';
import { smallHostSpec } from '../../test/support/small-host.js';
import { removeTreeFolder, writeTreeFolder } from '../../test/support/tree-folder.js';

let root = '';
let other = '';
before(() => {
  root = writeTreeFolder(buildHostTree(smallHostSpec()));
  other = mkdtempSync(join(tmpdir(), 'tcpx-usage-'));
  mkdirSync(join(other, 'empty'));
  mkdirSync(join(other, 'photos'));
  writeFileSync(join(other, 'photos/a.jpg'), 'x');
  execFileSync('mkfifo', [join(other, 'fifo')]);
  writeFileSync(join(other, 'random'), Buffer.from('b3a9d0c4f7', 'hex'));
  writeFileSync(join(other, 'text.tgz'), gzipSync('no archive at all'));
});
after(() => {
  removeTreeFolder(root);
  rmSync(other, { recursive: true });
});

interface Misuse {
  readonly words: readonly string[];
  readonly says: RegExp;
  /** Below the folder of wrong things, instead of the good tree. */
  readonly root?: string;
}

const MISUSES: readonly Misuse[] = [
  { words: ['topo'], root: 'empty', says: /neither proc nor sys/ },
  { words: ['doctor'], root: 'photos', says: /neither proc nor sys/ },
  { words: ['irq', 'show'], root: 'fifo', says: /neither a folder nor a capture file/ },
  { words: ['irq', 'plan'], root: 'random', says: /is no capture file \(\.tgz\)/ },
  { words: ['topo'], root: 'text.tgz', says: /archive is damaged|no capture|neither proc/ },
  { words: ['topo'], root: 'nowhere', says: /no such folder or capture file/ },
  { words: ['topo', '--svg', '-'], says: /--svg "-": a file name is wanted/ },
  { words: ['topo', '--svg', '/'], says: /write \// },
  { words: ['irq', 'plan', '--nics', 'eth1,eth1'], says: /eth1 is named twice/ },
  { words: ['doctor', '--nics', 'eth1,eth1'], says: /eth1 is named twice/ },
  { words: ['topo', '--nics', 'eth9'], says: /no interface eth9; there are: eth1, eth2/ },
  { words: ['doctor', '--nics', 'eth9'], says: /no interface eth9/ },
  { words: ['irq', 'plan', '--policy', 'manual'], says: /needs --nic NAME and --cores LIST/ },
  { words: ['env', '--policy', 'manual'], says: /needs --nic NAME and --cores LIST/ },
  { words: ['irq', 'plan', '--nic', 'eth1', '--cores', '8'], says: /CPU 8 is above the last/ },
  { words: ['irq', 'plan', '--app-cores', '0-99'], says: /CPU 99 is above the last/ },
  {
    words: ['irq', 'plan', '--policy', 'nccl', '--tx-bindings', 'eth9:0-1'],
    says: /--tx-bindings: eth9: no such interface/,
  },
  {
    words: ['irq', 'plan', '--policy', 'nccl', '--rx-bindings', 'eth1:6-8'],
    says: /--rx-bindings: eth1: 6-8 names cores above the last one, 7/,
  },
  {
    words: ['irq', 'plan', '--policy', 'split', '--tx-bindings', 'eth1:0-1'],
    says: /--tx-bindings: policy split chooses the threads’ cores itself/,
  },
  { words: ['irq', 'plan', '--plan', '/'], says: /^ERR_USAGE_ARGUMENT: plan \/: / },
  { words: ['irq', 'plan', '--gpu', '9'], says: /--gpu 9: CUDA sees 2 GPUs/ },
  { words: ['irq', 'plan', '--gpu', 'x'], says: /--gpu: "x" is not a whole number/ },
  { words: ['doctor', '--reference', '/etc/hostname'], says: /not a folder|neither a folder nor/ },
];

for (const { words, says, root: wrong } of MISUSES) {
  const name = `${words.join(' ')}${wrong === undefined ? '' : ` --root ${wrong}`}`;
  test(`usage: tcpx ${name}`, () => {
    const place = wrong === undefined ? root : join(other, wrong);
    const { status, stderr } = runTcpx([...words, '--root', place]);
    assert.ok(status === 2 || status === 3, `status ${status}: ${stderr}`);
    assert.match(stderr, says);
    assert.equal(stderr.trim().split('\n').length, 1, stderr);
  });
}

test('usage: a FIFO inside a tree is passed over, not waited for', () => {
  const path = join(root, 'proc/sys/kernel/hostname');
  rmSync(path);
  execFileSync('mkfifo', [path]);
  const { status, stdout, stderr } = runTcpx(['topo', '--root', root]);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /\/proc\/sys\/kernel\/hostname: not a regular file/);
});

test('usage: a host whose CPUs cannot be read gets no plan, exit 3', () => {
  const bare = buildHostTree(smallHostSpec());
  const gone = /^\/sys\/devices\/system\/cpu|^\/proc\/interrupts/;
  const folder = writeTreeFolder(new Map([...bare].filter(([path]) => !gone.test(path))));
  const { status, stderr } = runTcpx(['irq', 'plan', '--root', folder]);
  removeTreeFolder(folder);
  assert.equal(status, 3, stderr);
  assert.match(stderr, /^ERR_CAP_HOST: the CPUs of this host could not be read/);
});
