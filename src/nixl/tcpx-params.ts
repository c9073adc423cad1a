// Parameters of the TCPX backend: settings by their names, as texts. NIXL's users hand the same
// parameters to every backend, so those of others are passed over; a name that nobody knows is
// most likely a mistake.

import { SETTING_NAMES, type SettingValues } from '../base/settings.js';
import { didYouMean } from '../base/suggestion.js';
import type { BackendInit } from './backend.js';

/** What NIXL's own backends and programs pass around. */
const NAMES_OF_OTHERS: ReadonlySet<string> = new Set([
  'device_list',
  'engine_config',
  'in_python',
  'num_cpus',
  'num_threads',
  'num_workers',
  'split_batch_size',
  'thread_count',
  'ucx_devices',
  'ucx_ep_close_force',
  'ucx_error_handling_mode',
  'ucx_num_device_channels',
]);

/** Those that are settings; others are named in the log, once, when the backend is created. */
export function settingsOf({ params, type, log }: BackendInit): Partial<SettingValues> {
  const names: readonly string[] = SETTING_NAMES;
  const known: [string, string][] = [];
  for (const [name, text] of Object.entries(params)) {
    if (names.includes(name)) known.push([name, text]);
    else if (NAMES_OF_OTHERS.has(name)) log.debug('backend parameter of others', { name });
    else {
      const reason = `no setting${didYouMean(name, names)}`;
      log.warn('backend parameter ignored', { backend: type, name, reason });
    }
  }
  // Texts: loadConfig parses and checks them.
  return Object.fromEntries(known);
}
