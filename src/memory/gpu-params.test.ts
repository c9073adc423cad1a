import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KERNELS, readPtx } from './gpu-kernels.js';
import { BLOCK_THREADS, BlocksLayout, SpanLayout, UnpackLayout } from './gpu-params.js';
import { CHUNKS_MAX } from './scatter-entry.js';

for (const [kernel, { module, parameterBytes }] of Object.entries(KERNELS)) {
  test(`kernel parameters: tcpx_${kernel} takes as many bytes as the host prepares`, () => {
    const ptx = readPtx(module);
    const size = new RegExp(`tcpx_${kernel}_param_0\\[(\\d+)\\]`).exec(ptx)?.[1];
    assert.equal(Number(size), parameterBytes);
  });

  test(`kernel parameters: tcpx_${kernel} allows blocks of ${BLOCK_THREADS} threads`, () => {
    const entry = readPtx(module).split(`.entry tcpx_${kernel}(`)[1] ?? '';
    assert.equal(/\.maxntid (\d+)/.exec(entry)?.[1], String(BLOCK_THREADS));
  });
}

test('kernel parameters: every structure ends in tally and outcome', () => {
  for (const layout of [UnpackLayout, BlocksLayout, SpanLayout]) {
    assert.equal(layout.tally, layout.bytes - 16);
    assert.equal(layout.outcome, layout.bytes - 8);
  }
  assert.equal(UnpackLayout.total, CHUNKS_MAX * UnpackLayout.chunkBytes);
});
