// Settings with some of them changed: by a form, a shape or a sweep. The origin says by what: a
// setting that nobody has set may be chosen by the engine.

import { type Config, loadConfig } from '../base/config.js';
import type { SettingName, SettingValues } from '../base/settings.js';

export type SettingChanges = Partial<Readonly<Record<SettingName, string | number | boolean>>>;

export function deriveConfig(config: Config, changes: SettingChanges, origin: string): Config {
  // Not among what a copy of the settings has.
  const secret = { 'trust.secret': config.values['trust.secret'] };
  // Its settings are among the values already: no file is read again.
  const profile = { 'engine.profile': '' };
  const options = { ...config.values, ...secret, ...profile, ...changes } as Partial<SettingValues>;
  const { values } = loadConfig({ options });
  const effective = config.effective.map((one) =>
    Object.hasOwn(changes, one.name) && one.name !== 'trust.secret'
      ? { ...one, value: values[one.name], origin }
      : one,
  );
  return { values, effective };
}
