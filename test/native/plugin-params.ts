// How engines are told to use the emulated plugin: as settings, as texts of a backend's
// parameters, and as variables of the environment.

import { environmentName, type SettingName, type SettingValues } from '../../src/base/settings.js';
import { emulatorPath } from './plugin-environment.js';

export type Texts = Readonly<Record<string, string>>;

export const PLUGIN_SETTINGS: Partial<SettingValues> = {
  'engine.provider': 'tcpx',
  'plugin.path': emulatorPath,
  'session.nics': 'eth1',
  'tcpx.steeringWaitUs': 1000,
  'tcpx.sockets': 1,
  'tcpx.setupTimeoutMs': 20_000,
};

export function pluginParams(more: Partial<SettingValues> = {}): Texts {
  const entries = Object.entries({ ...PLUGIN_SETTINGS, ...more });
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}

export function pluginVariables(more: Partial<SettingValues> = {}): Texts {
  const entries = Object.entries(pluginParams(more));
  return Object.fromEntries(
    entries.map(([name, text]) => [environmentName(name as SettingName), text]),
  );
}
