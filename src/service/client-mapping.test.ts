import assert from 'node:assert/strict';
import { ftruncateSync } from 'node:fs';
import { test } from 'node:test';
import { ClientMapping } from './client-mapping.js';

test('client mapping: who has its descriptor can neither shorten nor lengthen it', () => {
  const mapping = new ClientMapping({ requestCount: 4, peerCount: 4 });
  try {
    for (const bytes of [0, mapping.layout.bytes + 4096]) {
      assert.throws(() => ftruncateSync(mapping.fd, bytes), /EPERM/);
    }
  } finally {
    mapping.close();
  }
});
