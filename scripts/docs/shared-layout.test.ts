import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as layout from '../../src/provider/tcp/lane/layout.js';
import * as messages from '../../src/provider/tcp/lane/messages.js';
import { REGION_ENTRY_LAYOUT } from '../../src/memory/region-table.js';
import { COMMANDS } from '../../src/cli/commands.js';
import { renderCommands } from './commands.js';
import { renderSharedLayout } from './shared-layout.js';

/** Rows of the first table below a heading. */
function rowsBelow(heading: string): string[] {
  const page = renderSharedLayout();
  const body = page.slice(page.indexOf(`## ${heading}\n`)).split('\n## ')[0] ?? '';
  return body.split('\n').filter((line) => /^\| \d+ \|/.test(line));
}

test('shared layout: names every record of the rings with its number', () => {
  const page = renderSharedLayout();
  for (const [name, value] of Object.entries(messages)) {
    if (name.endsWith('_WORDS')) continue; // lengths of records, not kinds
    assert.ok(page.includes(`| ${value} | \`${name}\` |`), name);
  }
});

test('shared layout: lists every field of a region', () => {
  const rows = rowsBelow('Region entry');
  assert.equal(rows.length, REGION_ENTRY_LAYOUT.length);
  for (const field of REGION_ENTRY_LAYOUT) {
    assert.ok(rows.some((row) => row.startsWith(`| ${field.offset} | \`${field.name}\` |`)));
  }
});

test('shared layout: every word that lanes use of a transfer is in its table', () => {
  const offsets = rowsBelow('Transfer entry').map((row) => Number(row.split('|')[1]));
  const isFloat = /_AT$|_CHANNEL_BYTES$|_SOURCE_EVENT$/;
  const isSize = /^TRANSFER_(BYTES|LAYOUT)$/;
  for (const [name, value] of Object.entries(layout)) {
    if (!name.startsWith('TRANSFER_') || isSize.test(name)) continue;
    const offset = Number(value) * (isFloat.test(name) ? 8 : 4);
    // One row stands for the four places in the arena.
    const row = name.endsWith('_AT') ? layout.TRANSFER_REMOTES_AT * 8 : offset;
    assert.ok(offsets.includes(row), `${name} at ${offset}`);
  }
});

test('command table: one row for each command', () => {
  const rows = renderCommands().trimEnd().split('\n').slice(2);
  assert.equal(rows.length, COMMANDS.length);
  for (const [index, command] of COMMANDS.entries()) {
    assert.match(rows[index] ?? '', new RegExp(`^\\| \`tcpx ${command.name}[ \`]`));
  }
});
