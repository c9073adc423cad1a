// What commands know about the NICs that carry data: flag and variables.

import { type Config, type Environment, processEnvironment } from '../base/config.js';
import type { SettingName } from '../base/settings.js';
import { CONTROL_VARIABLES, DATA_LIST_VARIABLE, type DataNicWish } from '../host/topo/data-nics.js';

/** `environment` is what is judged; it need not be this process's own. */
export function dataNicWish(
  config: Config,
  environment: Environment = processEnvironment(),
): DataNicWish {
  const control = CONTROL_VARIABLES.map((name) => environment[name] ?? '');
  return {
    named: ownValue(config, 'session.nics', [DATA_LIST_VARIABLE]),
    listed: environment[DATA_LIST_VARIABLE] ?? '',
    control:
      ownValue(config, 'session.ctrlInterface', CONTROL_VARIABLES) ||
      (control.find((text) => text !== '') ?? ''),
  };
}

// Said to us: by flag, option or our own variable, not by a variable of the plugin.
function ownValue(config: Config, name: SettingName, foreign: readonly string[]): string {
  const setting = config.effective.find((one) => one.name === name);
  const isForeign = foreign.some((variable) => setting?.origin === `environment ${variable}`);
  return setting === undefined || isForeign ? '' : String(setting.value);
}
