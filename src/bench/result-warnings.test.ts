// What a reader of a result must know before believing it.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { commonWarnings, type WarnedResult, warningsOf } from './result-warnings.js';

const CLEAN: WarnedResult = {
  path: 'tcp host',
  iterations: 50,
  bytesMoved: 50 * 67_108_864,
  bandwidthGBps: { mean: 5, p50: 5, min: 4, max: 6 },
  verified: { iterations: 55, mismatches: 0 },
  laneCpus: [{ cpu: 1, pinnedTo: [1] }],
  zeroCopy: [],
  host: { cores: 4, version: '1.0.0' },
  peer: { version: '1.0.0' },
  load: { before: 0.5, after: 1.5 },
};

describe('warnings of a result', () => {
  test('a clean one has none', () => {
    assert.deepEqual(warningsOf(CLEAN), []);
  });

  const cases: readonly (readonly [string, Partial<WarnedResult>, RegExp])[] = [
    ['shared memory', { path: 'shm' }, /nothing about a network/],
    ['few iterations', { iterations: 10 }, /10 iterations/],
    ['a moment', { bytesMoved: 50 * 4096 }, /took 0\.041 ms: -t 5/],
    ['stolen time', { load: { before: 0, after: 0, stolen: 0.05 } }, /gave 5 % of the CPU/],
    ['a wide spread', { bandwidthGBps: { mean: 5, p50: 5, min: 2, max: 6 } }, /3\.0 times/],
    ['nothing checked', { verified: { iterations: 0, mismatches: 0 } }, /no byte was checked/],
    ['a lane elsewhere', { laneCpus: [{ cpu: 2, pinnedTo: [1] }] }, /lane 0 ran on CPU 2/],
    ['two versions', { peer: { version: '1.1.0' } }, /not one version: 1\.0\.0 here, 1\.1\.0/],
    ['a busy machine', { load: { before: 5, after: 5 } }, /load of 5\.0 on 4 cores/],
    [
      'retransmissions',
      { kernel: { channels: [{ channel: 1, retransmits: 9 }] } as never },
      /channel 1 retransmitted 9/,
    ],
    [
      'fallbacks of zero-copy',
      { zeroCopy: [{ channel: 0, sends: 1, zeroCopied: 1, copied: 0, fallbacks: 2 }] },
      /2 sends fell back/,
    ],
    [
      'device memory that nobody counted',
      { devmem: { verdict: 'unknown', reason: 'no counter', nics: [] } as never },
      /device memory: no counter/,
    ],
  ];
  for (const [name, change, pattern] of cases) {
    test(name, () => {
      const warnings = warningsOf({ ...CLEAN, ...change });
      assert.equal(warnings.length, 1, warnings.join('; '));
      assert.match(warnings[0] ?? '', pattern);
    });
  }
});

test('warnings of several results: each kind once, with how many have it', () => {
  const of = (...warnings: string[]) => ({ warnings });
  const all = [
    of('channel 0 retransmitted 1 segment', 'odd'),
    of('channel 1 retransmitted 5 segments'),
  ];
  assert.deepEqual(commonWarnings(all, 'pairs'), [
    'channel 0 retransmitted 1 segment; of this kind 2 in 2 pairs',
    'odd',
  ]);
});
