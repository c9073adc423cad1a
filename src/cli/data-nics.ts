// What commands know about the NICs that carry data: flag, variables, and the error for a name that
// is not there.

import { type Config, type Environment, processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { SettingName } from '../base/settings.js';
import type { HostModel, Nic } from '../host/read/model.js';
import {
  CONTROL_VARIABLES,
  DATA_LIST_VARIABLE,
  dataNics,
  type DataNicWish,
} from '../host/topo/data-nics.js';

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

export function requireDataNics(model: HostModel, wish: DataNicWish): readonly Nic[] {
  const { nics, missing } = dataNics(model, wish);
  if (missing.length > 0) {
    const known = model.nics.map(({ name }) => name).join(', ');
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `no interface ${missing.join(', ')}; there are: ${known}`,
    );
  }
  return nics;
}
