import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameVectors, type VectorFacts } from './nic-vectors.js';
import type { NetdevQueues } from './probes.js';

function facts(overrides: Partial<VectorFacts>): VectorFacts {
  return {
    driver: 'gve',
    ifindex: 3,
    irqs: [100, 101, 102, 103, 104],
    nameOf: () => undefined,
    indexOf: () => undefined,
    rxQueueCount: 2,
    txQueueCount: 2,
    ...overrides,
  };
}

function meanings(subject: VectorFacts, netdev?: NetdevQueues) {
  return nameVectors(subject, netdev).vectors.map(({ role, queue }) =>
    queue === undefined ? role : `${role} ${queue}`,
  );
}

test('vectors: gve by position, the last one manages', () => {
  assert.deepEqual(meanings(facts({})), ['tx 0', 'tx 1', 'rx 0', 'rx 1', 'management']);
});

test('vectors: gve blocks beyond the queues in use are unused', () => {
  const subject = facts({ rxQueueCount: 1, txQueueCount: 1 });
  assert.deepEqual(meanings(subject), ['tx 0', 'unused', 'rx 0', 'unused', 'management']);
});

test('vectors: gve names of both styles win over position', () => {
  const styles = [
    (block: number) => `gve-ntfy-blk${block}@pci:0000:06:00.0`,
    (block: number) => `eth%d-ntfy-block.${block}`,
  ];
  for (const style of styles) {
    const nameOf = (irq: number) => (irq === 104 ? 'gve-mgmnt@pci:x' : style(103 - irq));
    const expected = ['rx 1', 'rx 0', 'tx 1', 'tx 0', 'management'];
    assert.deepEqual(meanings(facts({ nameOf })), expected);
  }
});

test('vectors: virtio with one shared vector, and patterns of other drivers', () => {
  const names: Readonly<Record<number, string>> = {
    100: 'virtio0-config',
    101: 'virtio0-virtqueues',
  };
  const virtio = facts({ driver: 'virtio_net', irqs: [100, 101], nameOf: (irq) => names[irq] });
  assert.deepEqual(meanings(virtio), ['management', 'rxtx']);
  const others = [
    'ens5-Tx-Rx-3',
    'mlx5_comp7@pci:0000:01:00.0',
    'eth0-rx-2',
    'ena-mgmnt@pci:x',
    'odd',
  ];
  const other = facts({ driver: 'other', nameOf: (irq) => others[irq - 100] });
  assert.deepEqual(meanings(other), ['rxtx 3', 'rxtx 7', 'rx 2', 'management', 'unknown']);
  assert.deepEqual(
    nameVectors(other, undefined).vectors.map(({ source }) => source),
    ['name pattern', 'name pattern', 'name pattern', 'name pattern', 'none'],
  );
});

const NETDEV: NetdevQueues = {
  operations: [10, 11],
  queues: [
    { ifindex: 3, type: 'rx', id: 1, napiId: 9, dmabufId: undefined },
    { ifindex: 3, type: 'tx', id: 0, napiId: 8, dmabufId: undefined },
    { ifindex: 4, type: 'rx', id: 5, napiId: 9, dmabufId: undefined },
  ],
  napis: [
    { ifindex: 3, id: 9, irq: 103, pid: undefined },
    { ifindex: 3, id: 8, irq: 101, pid: undefined },
    { ifindex: 3, id: 7, irq: undefined, pid: undefined },
  ],
};

test('vectors: netlink wins where it answers, and a contradiction is told', () => {
  const { vectors, conflicts } = nameVectors(facts({}), NETDEV);
  assert.equal(vectors[3]?.source, 'netlink napi-get');
  assert.deepEqual([vectors[1]?.role, vectors[1]?.queue], ['tx', 0]);
  assert.equal(vectors[0]?.source, 'gve rule');
  assert.deepEqual(conflicts, ['irq 101: netlink says tx 0, gve rule tx 1']);
});
