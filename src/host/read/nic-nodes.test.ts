import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a3HighTree } from '../../../test/support/a3-high-host.js';
import type { FileTree, TreeEntry } from './file-tree.js';
import { readNicNodes } from './nic-nodes.js';
import { openTreeFiles } from './tree-files.js';

const NICS = ['eth0', 'eth1', 'eth2', 'eth3', 'eth4', 'lo', 'absent'];

function nodesIn(tree: FileTree) {
  return readNicNodes(openTreeFiles(tree, '/'), NICS);
}

test('NIC nodes: each NIC of an A3 High by its PCI device; lo and absent ones have none', () => {
  const { nodeOf, cpusOf } = nodesIn(a3HighTree());
  assert.deepEqual(
    NICS.map((nic) => nodeOf.get(nic)),
    [0, 0, 0, 1, 1, undefined, undefined],
  );
  assert.deepEqual([...cpusOf.keys()].sort(), [0, 1]);
  assert.ok((cpusOf.get(1) ?? []).length > 0);
  const [first = [], second = []] = [cpusOf.get(0), cpusOf.get(1)];
  assert.ok(!first.some((cpu) => second.includes(cpu)));
});

test('NIC nodes: a platform that names no node binds nothing', () => {
  const changed = [...a3HighTree()].map(([path, entry]): [string, TreeEntry] =>
    path.endsWith('/numa_node') ? [path, { kind: 'file', text: '-1\n' }] : [path, entry],
  );
  assert.equal(nodesIn(new Map(changed)).nodeOf.size, 0);
});

test('NIC nodes: nothing on a host with one node, and none without any', () => {
  const one = new Map(a3HighTree());
  one.set('/sys/devices/system/node/online', { kind: 'file', text: '0\n' });
  assert.equal(nodesIn(one).nodeOf.size, 0);
  assert.equal(nodesIn(new Map<string, TreeEntry>()).nodeOf.size, 0);
});
