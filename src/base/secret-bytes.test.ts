import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { SecretBytes } from './secret-bytes.js';

test('secret bytes: seen by nobody who does not ask', () => {
  const secret = new SecretBytes(Buffer.from('a secret word'));
  const holder = { name: 'x', secret };
  const shown = [
    inspect(holder, { showHidden: true, depth: 9 }),
    JSON.stringify(holder),
    String(secret),
  ];
  for (const text of shown) {
    assert.ok(text.includes('[hidden]'), text);
    assert.ok(!/secret word|97|61 20/.test(text), text);
  }
  assert.equal(Buffer.from(secret.reveal()).toString(), 'a secret word');
  assert.equal(secret.length, 13);
  assert.equal(secret.toJSON(), '[hidden]');
});
