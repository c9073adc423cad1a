// `tcpx config`: every effective setting and where it came from.

import { SETTING_NAMES } from '../../base/settings.js';
import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

const HIDDEN = 'trust.secret';

export const configCommand: Command = {
  name: 'config',
  group: 'settings',
  summary: 'Every effective setting and where it came from.',
  settings: SETTING_NAMES.filter((name) => !name.startsWith('log.')),
  examples: [
    ['config', 'Every setting, its value and its origin.'],
    ['config --chunk 1MiB --json', 'As it would be with this flag.'],
  ],
  run(invocation) {
    const settings = invocation.config.effective.map((setting) =>
      setting.name === HIDDEN && setting.value !== '' ? { ...setting, value: '(set)' } : setting,
    );
    if (invocation.isJson) {
      printJson({ schema: 'tcpx.config/1', settings });
    } else {
      const rows = settings.map((setting) => [
        setting.name,
        String(setting.value) || '(empty)',
        setting.origin,
      ]);
      printText(formatTable([['setting', 'value', 'origin'], ...rows]));
    }
    return Promise.resolve(ExitCode.Good);
  },
};
