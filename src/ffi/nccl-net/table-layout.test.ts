import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  argumentSources,
  CALL_ROLES,
  type CallName,
  memberOffset,
  TABLE_LAYOUTS,
  tableBytes,
} from './table-layout.js';

function tableOf(version: number) {
  const table = TABLE_LAYOUTS.find((layout) => layout.version === version);
  assert.ok(table !== undefined);
  return table;
}

test('table layout: sizes and offsets are those of the interface', () => {
  const sizes = TABLE_LAYOUTS.map((table) => [
    table.version,
    tableBytes(table),
    table.properties.bytes,
  ]);
  assert.deepEqual(sizes, [
    [11, 176, 112],
    [10, 160, 104],
    [9, 160, 104],
    [8, 152, 64],
    [7, 152, 56],
  ]);
  for (const table of TABLE_LAYOUTS) {
    assert.equal(memberOffset(table, 'regMrDmaBuf'), 64);
    assert.equal(memberOffset(table, 'test'), 104);
    assert.equal(memberOffset(table, 'irecvConsumed'), 144);
  }
  assert.equal(memberOffset(tableOf(11), 'finalize'), 160);
});

test('table layout: no property overlaps another or reaches beyond the struct', () => {
  const widths = { text: 8, u64: 8, size: 8, int: 4, float: 4 } as const;
  for (const { version, properties } of TABLE_LAYOUTS) {
    let end = 0;
    for (const [name, offset, kind] of properties.fields) {
      assert.ok(offset >= end, `v${version} ${name} overlaps`);
      assert.equal(offset % widths[kind], 0, `v${version} ${name} is not aligned`);
      end = offset + widths[kind];
    }
    assert.ok(end <= properties.bytes, `v${version} fields fit`);
  }
});

test('table layout: every value of the caller finds its argument, or the version has none', () => {
  const droppable = ['context', 'config'];
  for (const table of TABLE_LAYOUTS) {
    for (const call of Object.keys(table.calls) as CallName[]) {
      const sources = argumentSources(table, call);
      for (const [index, role] of CALL_ROLES[call].entries()) {
        const isPassed = sources.includes(index);
        assert.ok(isPassed || droppable.includes(role), `v${table.version} ${call} loses ${role}`);
      }
    }
  }
});

test('table layout: calls per message need no adapter in v7', () => {
  for (const call of ['isend', 'irecv', 'test', 'irecvConsumed'] as const) {
    assert.deepEqual(
      argumentSources(tableOf(7), call),
      CALL_ROLES[call].map((_, index) => index),
    );
  }
  assert.deepEqual(argumentSources(tableOf(10), 'isend'), [0, 1, 2, 3, 4, -1, 5]);
  assert.deepEqual(argumentSources(tableOf(11), 'init'), [1, -1, 2, 0, -1]);
});
