// The one table of settings. Flags, --help, docs/configuration.md, environment names and
// `tcpx config` derive from it; nothing else declares a default.

import { BENCH_SETTINGS } from './bench-settings.js';
import { ENGINE_SETTINGS } from './engine-settings.js';
import { NIXL_SETTINGS } from './nixl-settings.js';
import { PLUGIN_SETTINGS } from './plugin-settings.js';
import { SERVICE_SETTINGS } from './service-settings.js';
import type { BooleanSetting, NumberSetting, Setting } from './setting.js';
import { TCPX_SETTINGS } from './tcpx-settings.js';

export const SETTINGS = {
  ...ENGINE_SETTINGS,
  ...NIXL_SETTINGS,
  ...PLUGIN_SETTINGS,
  ...TCPX_SETTINGS,
  ...SERVICE_SETTINGS,
  ...BENCH_SETTINGS,
} as const;

/** Name of a setting, for example `flow.chunkBytes`; see docs/configuration.md. */
export type SettingName = keyof typeof SETTINGS;

type ValueOf<S extends Setting> = S extends { readonly kind: 'choice'; readonly choices: infer C }
  ? C extends readonly string[]
    ? C[number]
    : never
  : S extends NumberSetting
    ? number
    : S extends BooleanSetting
      ? boolean
      : string;

/** The value type of every setting. */
export type SettingValues = { readonly [N in SettingName]: ValueOf<(typeof SETTINGS)[N]> };

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

export function settingOf(name: SettingName): Setting {
  return SETTINGS[name];
}

/** What every variable of ours begins with. */
export const ENVIRONMENT_PREFIX = 'NIXL_TCPX_';

/** `flow.chunkBytes` → `NIXL_TCPX_FLOW_CHUNK_BYTES`. */
export function environmentName(name: SettingName): string {
  const words = name.replace(/([a-z])([A-Z])/g, '$1_$2').replaceAll('.', '_');
  return `${ENVIRONMENT_PREFIX}${words.toUpperCase()}`;
}
