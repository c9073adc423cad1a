// What programs can reach is meant for them, and takes no name that they have already.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryRoot } from '../repository.js';
import { publicSurface, unnamedTypes } from './api-comments.js';

const surface = publicSurface();
const names = surface.map(({ name }) => name);

test('public surface: no member is for the engine, for a peer or for our tests', () => {
  const inner = surface.filter(({ comment }) => /\bcalled by the\b|\bfor tests\b/i.test(comment));
  assert.deepEqual(
    inner.filter(({ name }) => !name.startsWith('Backend')),
    [],
  );
  const hidden = ['Transfer.settle', 'Transfer.facts', 'Session.recovery', 'Session.setClosed'];
  const others = ['Session.facts', 'Session.keeper', 'Session.control', 'NotificationStream.push'];
  for (const name of [...hidden, ...others, 'XferRequest.isDraining', 'PreparedDlist.mdsOf']) {
    assert.ok(!names.includes(name), name);
  }
  assert.ok(names.includes('Transfer.progress') && names.includes('Session.lookup'));
});

test('public surface: no name shadows one of the platform', () => {
  const lib = join(repositoryRoot, 'node_modules/typescript/lib');
  const texts = ['lib.dom.d.ts', 'lib.es5.d.ts', 'lib.es2015.collection.d.ts'].map((file) =>
    readFileSync(join(lib, file), 'utf8'),
  );
  const declared = /^(?:interface|declare (?:var|function|type)|type) (\w+)/gm;
  const taken = new Set(
    texts.flatMap((text) => [...text.matchAll(declared)].map(([, name]) => name)),
  );
  for (const known of ['Request', 'Notification', 'Map']) assert.ok(taken.has(known), known);
  const own = names.filter((name) => !name.includes('.'));
  assert.deepEqual(
    own.filter((name) => taken.has(name) || name in globalThis),
    [],
  );
});

test('public surface: every type that a public declaration names is a public name', () => {
  // Computed from the table of settings.
  assert.deepEqual(unnamedTypes(), ['SettingValues: ValueOf']);
});
