import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type RegionShare, shareHostMemory } from './region-share.js';
import { allocateShared } from './shared-region.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

async function collectAll(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) {
    collect();
    await nextTurn();
  }
}

function share(held: RegionShare[]): string {
  const one = shareHostMemory({ memory: allocateShared(4096), offset: 0 }, 4096);
  held.push(one);
  assert.ok(one.shared.way === 'shared');
  return one.shared.path;
}

test('region share: host memory lives as long as its share, with no other owner', async () => {
  const held: RegionShare[] = [];
  const path = share(held);
  await collectAll();
  assert.ok(existsSync(path), 'registered');
  held.length = 0;
  await collectAll();
  assert.ok(!existsSync(path), 'let go');
});
