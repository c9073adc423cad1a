import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fieldIndex, type SharedBlock } from '../../src/base/shared-block.js';
import * as blocks from '../../src/base/shared-layout.js';
import { COMMANDS } from '../../src/cli/commands.js';
import * as messages from '../../src/provider/tcp/lane/messages.js';
import { repositoryRoot } from '../repository.js';
import { renderCommands } from './commands.js';
import { renderSharedLayout } from './shared-layout.js';

/** By prefix of the constants: the block that they are indexes of. */
const BLOCKS: Readonly<Record<string, SharedBlock>> = Object.fromEntries(
  Object.entries(blocks).flatMap(([name, block]) =>
    name.endsWith('_BLOCK') && typeof block === 'object' ? [[name.slice(0, -6), block]] : [],
  ),
);

/** Files that say where things lie in shared memory. */
const LAYOUT_FILES = [
  'src/provider/tcp/lane/layout.ts',
  'src/memory/region-table.ts',
  'src/flow/request-layout.ts',
  'src/os/record-ring.ts',
];

interface Constant {
  readonly path: string;
  readonly name: string;
  readonly value: string;
}

/** Constants whose names begin with that of a block, except for sizes. */
function layoutConstants(): Constant[] {
  return LAYOUT_FILES.flatMap((path) => {
    const text = readFileSync(join(repositoryRoot, path), 'utf8');
    const found = [...text.matchAll(/^(?:export )?const ([A-Z]+_[A-Z_]+) =\s+([^;]+);/gm)];
    return found
      .map(([, name = '', value = '']) => ({ path, name, value }))
      .filter(({ name }) => (name.split('_')[0] ?? '') in BLOCKS)
      .filter(({ value }) => !/_BLOCK\.bytes|_BYTES\b/.test(value));
  });
}

function fieldName(constant: string): string {
  const [, ...words] = constant.toLowerCase().split('_');
  return words
    .map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
}

test('shared layout: names every record of the rings with its number', () => {
  const page = renderSharedLayout();
  for (const [name, value] of Object.entries(messages)) {
    if (name.endsWith('_WORDS')) continue; // lengths of records, not kinds
    assert.ok(page.includes(`| ${value} | \`${name}\` |`), name);
  }
});

test('shared layout: every constant is the index of a field of the table', () => {
  const constants = layoutConstants();
  assert.ok(constants.length > 60, `${constants.length} constants`);
  for (const { path, name, value } of constants) {
    const prefix = name.split('_')[0] ?? '';
    const wanted = `fieldIndex(${prefix}_BLOCK, '${fieldName(name)}')`;
    assert.equal(value, wanted, `${path}: ${name} comes from the table`);
  }
});

test('shared layout: every field of the table has a constant that somebody can use', () => {
  const names = new Set(layoutConstants().map(({ value }) => value));
  for (const [prefix, block] of Object.entries(BLOCKS)) {
    for (const field of Object.keys(block.fields)) {
      assert.ok(names.has(`fieldIndex(${prefix}_BLOCK, '${field}')`), `${prefix}: ${field}`);
      assert.equal(Number.isInteger(fieldIndex(block, field)), true);
    }
  }
});

test('shared layout: the page has every block and every field of it', () => {
  const page = renderSharedLayout();
  assert.ok(Object.keys(BLOCKS).length >= 8);
  for (const block of Object.values(BLOCKS)) {
    const from = page.search(new RegExp(`^(## )?${block.title}:?$`, 'm'));
    assert.ok(from >= 0, block.title);
    const rows = page.slice(from).split(/\|\n\n/)[0] ?? '';
    for (const [name, { offset }] of Object.entries(block.fields)) {
      assert.ok(rows.includes(`| ${offset} | \`${name}\` |`), `${block.title}: ${name}`);
    }
  }
});

test('command table: one row for each command', () => {
  const rows = renderCommands().trimEnd().split('\n').slice(2);
  assert.equal(rows.length, COMMANDS.length);
  for (const [index, command] of COMMANDS.entries()) {
    assert.match(rows[index] ?? '', new RegExp(`^\\| \`tcpx ${command.name}[ \`]`));
  }
});
