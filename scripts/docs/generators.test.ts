import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES } from '../../src/base/errors.js';
import { environmentName, SETTING_NAMES, settingOf } from '../../src/base/settings.js';
import { LAYERS } from '../layers.js';
import { anchorsOf, linksOf } from '../tidy/markdown.js';
import { renderConfiguration } from './configuration.js';
import { renderErrors, renderTroubleshooting } from './errors.js';
import { applyGenerator } from './generator.js';
import { renderLayers } from './layers.js';
import { markdownTable } from './markdown-table.js';

test('configuration page: names every setting, its variable, aliases, flag and cost', () => {
  const page = renderConfiguration();
  for (const name of SETTING_NAMES) {
    const setting = settingOf(name);
    const parts = [`### \`${name}\``, environmentName(name), setting.summary, setting.cost];
    parts.push(...(setting.aliases ?? []));
    if (setting.flag !== undefined) parts.push(`\`--${setting.flag}\``);
    for (const part of parts) assert.ok(page.includes(part), `${name}: ${part}`);
  }
});

test('configuration page: the overview leads to each setting', () => {
  const page = renderConfiguration();
  const anchors = anchorsOf(page);
  const links = linksOf(page).map(({ target }) => target.slice(1));
  assert.equal(links.length, SETTING_NAMES.length);
  for (const link of links) assert.ok(anchors.has(link), link);
});

test('errors and troubleshooting pages: name every code with meaning and remedy', () => {
  for (const page of [renderErrors(), renderTroubleshooting()]) {
    for (const [code, entry] of Object.entries(ERROR_CODES)) {
      assert.ok(page.includes(`\`${code}\``), code);
      assert.ok(page.includes(entry.meaning.slice(1)), `${code}: meaning`);
      assert.ok(page.includes(entry.remedy), `${code}: remedy`);
    }
  }
});

test('layer table: one row for each folder', () => {
  const table = renderLayers();
  for (const name of Object.keys(LAYERS))
    assert.match(table, new RegExp(`^\\| \`src/${name}\``, 'm'));
});

test('generator: a block replaces what is between its marks and keeps the rest', () => {
  const generator = { path: 'a.md', marker: 'm', render: () => 'new' };
  const before = 'head\n<!-- generated:m -->\nold\n<!-- /generated:m -->\ntail\n';
  const { text } = applyGenerator(generator, before);
  assert.equal(text, 'head\n<!-- generated:m -->\n\nnew\n\n<!-- /generated:m -->\ntail\n');
  assert.equal(applyGenerator(generator, text).text, text);
});

test('markdown table: a bar in a cell is escaped', () => {
  assert.equal(markdownTable(['a'], [['x|y']]), '| a |\n| --- |\n| x\\|y |\n');
});
