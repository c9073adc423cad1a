// Settings of engines whose sessions go through the emulated plugin.

import type { SettingValues } from '../../src/base/settings.js';
import { emulatorPath } from '../native/plugin-environment.js';

export const PLUGIN_SETTINGS: Partial<SettingValues> = {
  'engine.provider': 'tcpx',
  'plugin.path': emulatorPath,
  'session.nics': 'eth1',
  'tcpx.steeringWaitUs': 1000,
  'tcpx.sockets': 1,
  'tcpx.setupTimeoutMs': 20_000,
};
