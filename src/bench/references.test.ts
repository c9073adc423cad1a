// Figures of others, and how a run stands to them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readGoal, readReferences, standTo } from './references.js';

const REFERENCES = readReferences();

describe('references', () => {
  test('every one says what it is of, and a suspect one why', () => {
    for (const one of REFERENCES) {
      assert.ok(one.lowGBps > 0 && one.lowGBps <= one.highGBps, one.name);
      assert.ok(one.what !== '' && one.source !== '', one.name);
      assert.equal(one.evidence, 'reference');
      assert.equal(typeof one.remark, 'string');
      if (one.isSuspect) assert.ok(one.remark.length > 20, one.name);
    }
    assert.equal(new Set(REFERENCES.map(({ name }) => name)).size, REFERENCES.length);
  });

  test('the page and the README name what the files hold', () => {
    const root = new URL('../../../', import.meta.url);
    const page = readFileSync(new URL('docs/benchmarking.md', root), 'utf8');
    const readme = readFileSync(new URL('README.md', root), 'utf8');
    for (const { name } of REFERENCES) {
      assert.ok(page.includes(`\`${name}\``), name);
      assert.ok(readme.includes(`\`${name}\``), name);
    }
  });

  test('figures that were divided by 2^30 are given in 10^9 bytes', () => {
    const server = REFERENCES.find(({ name }) => name === 'engine-2025-server');
    assert.equal(server?.lowGBps.toFixed(2), '2.95');
  });

  test('the one with 2 channels × 2 sockets fits its 8.1 ms, and is suspect', () => {
    const one = REFERENCES.find(({ name }) => name === 'engine-2025-2x2');
    assert.ok(one?.isSuspect === true);
    const rate = (64 * 1024 * 1024) / 8.1e-3 / 1e9;
    assert.ok(one.lowGBps <= rate && rate <= one.highGBps, String(rate));
  });

  test('ratio and gap to each; to a range, its nearer end counts', () => {
    const one = { lowGBps: 4, highGBps: 8 };
    assert.deepEqual(standTo(2, one), { ratio: 0.5, gapGBps: 2 });
    assert.deepEqual(standTo(6, one), { ratio: 1, gapGBps: 0 });
    assert.deepEqual(standTo(16, one), { ratio: 2, gapGBps: -8 });
  });

  test('the goal is 5 GB/s for a GPU', () => {
    assert.equal(readGoal().gbps, 5);
  });
});
