// `tcpx config`: every effective setting and where it came from, and the provider that follows
// from them on this host.

import { type EffectiveSetting, processEnvironment } from '../../base/config.js';
import { sizeOf } from '../../base/setting.js';
import { SETTING_NAMES, settingOf } from '../../base/settings.js';
import type { ProviderOutlook } from '../../engine/provider-outlook.js';
import type { Command } from '../command.js';
import { ExitCode } from '../exit-code.js';
import { formatTable, printJson, printText } from '../print.js';

export const configCommand: Command = {
  name: 'config',
  group: 'settings',
  summary: 'Every effective setting and where it came from; which provider would be used, and why.',
  settings: SETTING_NAMES.filter((name) => !name.startsWith('log.')),
  examples: [
    ['config', 'Every setting, its value and its origin.'],
    ['config --chunk 1MiB --json', 'As it would be with this flag.'],
  ],
  async run(invocation) {
    const { tunedHere } = await import('../../engine/tuned-config.js');
    const settings = tunedHere(invocation.config).effective;
    const { outlookOf } = await import('../../engine/provider-outlook.js');
    const provider = outlookOf(invocation.config.values, processEnvironment());
    if (invocation.isJson) {
      printJson({ schema: 'tcpx.config/1', settings, provider });
    } else {
      const rows = settings.map((setting) => [setting.name, shownValue(setting), setting.origin]);
      printText(formatTable([['setting', 'value', 'origin'], ...rows]));
      printText(`\n${formatTable(providerRows(provider))}`);
    }
    return ExitCode.Good;
  },
};

function shownValue({ name, value }: EffectiveSetting): string {
  if (settingOf(name).kind === 'bytes') return sizeOf(Number(value));
  return String(value) || '(empty)';
}

function providerRows(outlook: ProviderOutlook): string[][] {
  const { provider, reason, plugin, gpu, nics } = outlook;
  return [
    ['provider', 'here', 'reason'],
    [`engine.provider ${outlook.setting}`, provider, reason],
    ['needs plugin', plugin.state, plugin.text],
    ['needs GPU', gpu.state, gpu.text],
    ['needs NICs', nics.state, nics.text],
  ];
}
