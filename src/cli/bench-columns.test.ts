// Results as rows: columns that readers of nixlbench know, and CSV.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { benchResult } from '../../test/support/bench-result.js';
import { formatCsv, formatNixlbench } from './bench-columns.js';

const RUN = benchResult(4, {
  blockBytes: 16_777_216,
  bytesMoved: 60 * 67_108_864,
  phases: {
    prepareUs: 12.34,
    postUs: { mean: 1.5, p50: 1, p90: 2, p99: 3.25, max: 4 },
    flightUs: { mean: 100, p50: 90, p90: 110, p99: 120.5, max: 130 },
  },
  requestDepth: { transfers: 1, blocks: 4, chunks: 16 },
});

describe('columns of results', () => {
  test('nixlbench: its names in its order', () => {
    const [heading = '', row = ''] = formatNixlbench([RUN]).split('\n');
    assert.deepEqual(heading.split(/ {2,}/), [
      'Block Size (B)',
      'Batch Size',
      'B/W (GB/Sec)',
      'Avg Lat. (us)',
      'Avg Prep (us)',
      'P99 Prep (us)',
      'Avg Post (us)',
      'P99 Post (us)',
      'Avg Tx (us)',
      'P99 Tx (us)',
    ]);
    // 64 MiB at 4 GB/s in four blocks: 4,194.3 µs for each.
    assert.deepEqual(row.trim().split(/\s+/), [
      '16777216',
      '4',
      '4.000000',
      '4194.3',
      '12.3',
      '12.3',
      '1.5',
      '3.3',
      '100.0',
      '120.5',
    ]);
  });

  test('CSV: one heading, a row for each run, fields with commas quoted', () => {
    const odd = {
      ...RUN,
      partial: 'stopped',
      warnings: ['x', 'y'],
      host: { ...RUN.host, hostname: 'a,"b"' },
    };
    const [heading = '', first = '', second = '', end] = formatCsv([RUN, odd]).split('\n');
    assert.equal(end, '');
    assert.ok(heading.startsWith('Block Size (B),Batch Size,B/W (GB/Sec),'));
    assert.equal(heading.split(',').length, first.split(',').length);
    assert.ok(second.includes('"a,""b"""'), second);
    assert.ok(second.includes(',stopped,x; y,'), second);
  });

  test('a ping-pong has no posts: their cells are empty', () => {
    const { phases, ...bare } = RUN;
    assert.ok(phases !== undefined);
    const [heading = '', row = ''] = formatCsv([{ ...bare, op: 'pingpong' }]).split('\n');
    const cells = row.split(',');
    assert.equal(cells[heading.split(',').indexOf('Avg Post (us)')], '');
  });
});
