import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROL_VECTORS } from '../../src/wire/vectors/control-vectors.js';
import { bytesOfHex, DATA_VECTORS } from '../../src/wire/vectors/data-vectors.js';
import { hexBlock, renderFrames } from './protocol.js';

test('protocol page: has the golden bytes of every frame, whole', () => {
  const digits = renderFrames()
    .replace(/^ *\d+ {2}/gm, '')
    .replaceAll(/\s/g, '');
  for (const { name, hex } of [...CONTROL_VECTORS, ...DATA_VECTORS]) {
    assert.ok(digits.includes(Buffer.from(bytesOfHex(hex)).toString('hex')), name);
  }
});

test('hex block: sixteen bytes a line, with offsets', () => {
  assert.equal(
    hexBlock('00'.repeat(17)),
    `\`\`\`text\n   0  ${Array(16).fill('00').join(' ')}\n  16  00\n\`\`\`\n`,
  );
});
