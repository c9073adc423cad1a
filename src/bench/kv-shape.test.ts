// KV caches as transfers: bytes and blocks from the shape of a model.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { KV_MODELS, parseKvShape } from './kv-shape.js';

describe('KV shape', () => {
  test('Llama 3.1 8B, 4,096 tokens in blocks of 16: 512 MiB in 16,384 blocks of 32 KiB', () => {
    const shape = parseKvShape('llama-3.1-8b');
    assert.equal(shape.blockBytes, 16 * 8 * 128 * 2);
    assert.equal(shape.descriptors, 32 * 2 * 256);
    assert.equal(shape.bytes, 512 * 1024 * 1024);
    assert.equal(shape.tokens, 4096);
  });

  test('a share of the heads: tensor parallelism divides bytes, not blocks', () => {
    const whole = parseKvShape('llama-3.1-70b');
    const share = parseKvShape('llama-3.1-70b,tp=8');
    assert.equal(share.descriptors, whole.descriptors);
    assert.equal(share.bytes, whole.bytes / 8);
  });

  test('a compressed cache has one plane and no heads to share', () => {
    const shape = parseKvShape('deepseek-r1,tokens=1000,block=64');
    assert.equal(shape.blockBytes, 64 * 576 * 2);
    assert.equal(shape.descriptors, 61 * 16, 'the last block is moved whole');
    assert.throws(() => parseKvShape('deepseek-r1,tp=2'), withCode('ERR_USAGE_ARGUMENT', /tp/));
  });

  test('a shape of one’s own', () => {
    const shape = parseKvShape('layers=2,heads=4,dim=8,tokens=32,block=16,bytes=1');
    assert.deepEqual(
      [shape.model, shape.blockBytes, shape.descriptors, shape.bytes],
      ['own', 512, 8, 4096],
    );
  });

  test('every model of the table has a shape', () => {
    for (const model of KV_MODELS) assert.ok(parseKvShape(model).bytes > 0, model);
  });

  test('what is no shape is refused with what is', () => {
    const cases: readonly (readonly [string, RegExp])[] = [
      ['', /layers/],
      ['llama-3.1-7b', /did you mean llama-3\.1-/],
      ['llama-3.1-8b,token=3', /did you mean tokens/],
      ['llama-3.1-8b,tokens=0', /tokens/],
      ['llama-3.1-8b,tokens=1e3', /tokens/],
      ['llama-3.1-8b,tp=3', /tp/],
      ['layers=2,heads=4', /dim/],
      ['llama-3.1-70b,tokens=1000000', /64 GiB/],
    ];
    for (const [text, pattern] of cases) {
      assert.throws(() => parseKvShape(text), withCode('ERR_USAGE_ARGUMENT', pattern), text);
    }
  });
});
