// What a client passes as its memory, where the service could not touch it safely.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { createSealedFile } from '../ffi/libc/memory-file.js';
import type { ClientEngine } from './client-engine.js';
import { ClientMemory } from './client-memory.js';

const BYTES = 8192;
/** Refused before it is asked for anything. */
const ENGINE = {} as ClientEngine;

test('client memory: obstacles of either way are named, and nothing is mapped', () => {
  const memory = new ClientMemory(ENGINE, {
    copyObstacle: 'no copies',
    shareObstacle: 'no files',
    regionsMax: 4,
  });
  const fd = createSealedFile('client-memory', BYTES);
  const rights = { read: true, write: true };
  const place = { addr: 4096, bytes: BYTES, offset: 0, rights };
  const wish = { ...place, handle: new Uint8Array(0), pciAddress: '', segments: [] };
  for (const [way, obstacle] of [
    ['copied', /no copies/],
    ['shared', /no files/],
  ] as const) {
    assert.throws(
      () => memory.register({ ...wish, way }, [fd]),
      withCode('ERR_CAP_CLIENT_MEMORY', obstacle),
    );
  }
  assert.throws(() => memory.get(1), withCode('ERR_USAGE_NOT_FOUND'));
  closeFd(fd);
});
