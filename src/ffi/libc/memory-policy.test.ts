import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { mapMemory, unmapMemory, viewMapping } from './mapping.js';
import { nodeOfPage, preferNodeForRange, preferNodeForThread } from './memory-policy.js';

const PAGES_BYTES = 4 * 4096;
const hasNodes = existsSync('/sys/devices/system/node/node0');

test('memory policy: pages lie on the node that is preferred for them', (t) => {
  if (!hasNodes) {
    t.skip('this kernel knows no NUMA nodes');
    return;
  }
  const mapping = mapMemory(PAGES_BYTES);
  assert.equal(preferNodeForRange(mapping.addr, PAGES_BYTES, 0), true);
  new Uint8Array(viewMapping(mapping)).fill(1);
  assert.equal(nodeOfPage(mapping.addr), 0);
  unmapMemory(mapping);
});

test('memory policy: a node that is not there is declined, and nothing breaks', () => {
  const mapping = mapMemory(PAGES_BYTES);
  for (const node of [1000, 4000]) {
    assert.equal(preferNodeForRange(mapping.addr, PAGES_BYTES, node), false);
    assert.equal(preferNodeForThread(node), false);
  }
  new Uint8Array(viewMapping(mapping)).fill(1);
  unmapMemory(mapping);
});
