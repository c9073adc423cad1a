// docs/configuration.md from the settings table.

import { describeRange, type Setting, sizeOf } from '../../src/base/setting.js';
import {
  environmentName,
  SETTING_NAMES,
  type SettingName,
  settingOf,
} from '../../src/base/settings.js';
import { GENERATED_NOTE, markdownTable } from './markdown-table.js';

export function renderConfiguration(): string {
  return [
    '# Configuration',
    '',
    GENERATED_NOTE('src/base/settings.ts'),
    'Every setting can be given as a flag, where it has one, or as an environment variable; a',
    'program passes it as an option under its name. A flag wins over an option, an option over the',
    'environment, the environment over a profile (`engine.profile`), a profile over what is chosen',
    'for the host (`auto`) and over the default. A value that is present but unusable is an',
    'error (`ERR_CONFIG_VALUE`), never a silent default. `tcpx config` prints every effective',
    'value and where it came from, and which provider follows from them on this host. Sizes accept',
    '`64MiB`, `512K` or plain bytes.',
    '',
    '## All settings',
    '',
    markdownTable(
      ['setting', 'flag', 'default', 'range'],
      SETTING_NAMES.map((name) => overviewRow(name, settingOf(name))),
    ),
    ...areas().map(renderArea),
  ].join('\n');
}

function overviewRow(name: SettingName, setting: Setting): string[] {
  return [
    `[\`${name}\`](#${anchorOf(name)})`,
    flagOf(setting),
    fallbackOf(setting),
    rangeOf(setting),
  ];
}

function areas(): string[] {
  return [...new Set(SETTING_NAMES.map((name) => name.split('.')[0] ?? ''))];
}

function renderArea(area: string): string {
  const names = SETTING_NAMES.filter((name) => name.startsWith(`${area}.`));
  return [`## ${area}`, '', ...names.map((name) => renderSetting(name, settingOf(name)))].join(
    '\n',
  );
}

function renderSetting(name: SettingName, setting: Setting): string {
  const aliases = (setting.aliases ?? []).map((alias) => `\`${alias}\``).join(', ');
  const facts = [
    `flag: ${flagOf(setting)}`,
    `environment: \`${environmentName(name)}\``,
    ...(aliases === '' ? [] : [`also accepted: ${aliases}`]),
    `default: ${fallbackOf(setting)}`,
    `range: ${rangeOf(setting)}`,
    `cost: ${setting.cost}`,
  ];
  const list = facts.map((fact) => `- ${fact}`).join('\n');
  return `### \`${name}\`\n\n${setting.summary}\n\n${list}\n`;
}

function flagOf(setting: Setting): string {
  return setting.flag === undefined ? 'none' : `\`--${setting.flag}\``;
}

function fallbackOf(setting: Setting): string {
  if (setting.canBeAuto === true) return '`auto`';
  if (setting.fallback === '') return 'empty';
  return setting.kind === 'bytes' ? sizeOf(setting.fallback) : `\`${setting.fallback}\``;
}

function rangeOf(setting: Setting): string {
  const unit = setting.kind === 'ms' || setting.kind === 'us' ? ` ${setting.kind}` : '';
  return `${describeRange(setting)}${unit}`;
}

// GitHub drops dots and lowers letters.
function anchorOf(name: string): string {
  return name.replaceAll('.', '').toLowerCase();
}
