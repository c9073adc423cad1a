import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBootId } from './boot-id.js';

test('boot id: of this host, of captured files, and not known', () => {
  assert.match(readBootId() ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  const captured = (text: string | undefined) => ({
    read: (path: string) => (path === '/proc/sys/kernel/random/boot_id' ? text : 'another file'),
  });
  assert.equal(readBootId(captured('a-boot\n')), 'a-boot');
  assert.equal(readBootId(captured(' \n')), undefined);
  assert.equal(readBootId(captured(undefined)), undefined);
});
