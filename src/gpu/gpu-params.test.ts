import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOPPER_MODULES, KERNELS, readPtx } from './gpu-kernels.js';
import { BLOCK_THREADS, BlocksLayout, FewLayout, SpanLayout, UnpackLayout } from './gpu-params.js';
import { CHUNKS_MAX, PACKED_FRAGMENTS_MAX } from './scatter-entry.js';

for (const [kernel, { module, parameterBytes }] of Object.entries(KERNELS)) {
  const hopperForm = HOPPER_MODULES[module];
  for (const form of hopperForm === undefined ? [module] : [module, hopperForm]) {
    test(`kernel parameters: tcpx_${kernel} of ${form} takes what the host prepares`, () => {
      const size = new RegExp(`tcpx_${kernel}_param_0\\[(\\d+)\\]`).exec(readPtx(form))?.[1];
      assert.equal(Number(size), parameterBytes);
    });

    test(`kernel parameters: tcpx_${kernel} of ${form} allows ${BLOCK_THREADS} threads`, () => {
      const entry = readPtx(form).split(`.entry tcpx_${kernel}(`)[1] ?? '';
      assert.equal(/\.maxntid (\d+)/.exec(entry)?.[1], String(BLOCK_THREADS));
    });

    test(`kernel order: tcpx_${kernel} of ${form} waits for earlier work if it may overlap`, () => {
      const entry = readPtx(form).split(`.entry tcpx_${kernel}(`)[1]?.split('.entry ')[0] ?? '';
      const mayOverlap = form === hopperForm;
      assert.equal(entry.includes('griddepcontrol.wait'), mayOverlap);
      assert.equal(entry.includes('griddepcontrol.launch_dependents'), mayOverlap);
    });
  }
}

test('kernel parameters: every structure ends in tally and outcome', () => {
  for (const layout of [UnpackLayout, FewLayout, BlocksLayout, SpanLayout]) {
    assert.equal(layout.tally, layout.bytes - 16);
    assert.equal(layout.outcome, layout.bytes - 8);
  }
  assert.equal(UnpackLayout.total, CHUNKS_MAX * UnpackLayout.chunkBytes);
  assert.equal(FewLayout.source, PACKED_FRAGMENTS_MAX * FewLayout.entryBytes);
  for (const field of ['perBlock', 'parts', 'partBytes', 'sequence'] as const) {
    const distance = FewLayout[field] - FewLayout.total;
    assert.equal(distance, UnpackLayout[field] - UnpackLayout.total, field);
  }
});
