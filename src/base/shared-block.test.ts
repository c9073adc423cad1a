import assert from 'node:assert/strict';
import { test } from 'node:test';
import { declareBlock, fieldBytes, fieldIndex, type SharedField } from './shared-block.js';

function field(type: 'int32' | 'float64', offset: number, writer = 'main', count = 1): SharedField {
  return { type, offset, writer, meaning: '', count };
}

test('shared block: an index counts in the type of its field', () => {
  const block = declareBlock(
    { title: 'b', bytes: 32 },
    { a: field('int32', 4), b: field('float64', 8, 'main', 3) },
  );
  assert.equal(fieldIndex(block, 'a'), 1);
  assert.equal(fieldIndex(block, 'b'), 1);
  assert.equal(fieldBytes(block.fields.b), 24);
});

test('shared block: fields that overlap, do not fit, lie askew or out of order are refused', () => {
  const cases: readonly (readonly [RegExp, Record<string, SharedField>])[] = [
    [/b lies behind/, { a: field('float64', 0), b: field('int32', 4) }],
    [/b lies behind/, { a: field('int32', 8), b: field('int32', 0) }],
    [/a is aligned/, { a: field('float64', 4) }],
    [/fit into 16 bytes/, { a: field('int32', 0, 'main', 5) }],
  ];
  for (const [message, fields] of cases) {
    assert.throws(() => declareBlock({ title: 'b', bytes: 16 }, fields), message);
  }
});

test('shared block: words of two writers share no line where it is spread', () => {
  const terms = { title: 'b', bytes: 512, isSpread: true };
  const near = { a: field('int32', 0, 'main'), b: field('int32', 64, 'lane') };
  assert.throws(() => declareBlock(terms, near), /b shares no line with main/);
  const far = { a: field('int32', 0, 'main'), b: field('int32', 128, 'lane') };
  assert.equal(declareBlock(terms, far).fields.b.offset, 128);
  assert.equal(declareBlock({ ...terms, isSpread: false }, near).fields.b.offset, 64);
});
