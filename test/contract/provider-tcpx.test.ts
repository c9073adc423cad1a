// The providers' suite over the tcpx provider with the emulated plugin, host memory.

import { emulatorVariables } from '../native/plugin-environment.js';
import { PLUGIN_SETTINGS } from '../native/plugin-params.js';
import { providerContract } from './provider.js';
import { engineHarness } from './provider-engines.js';

const MIB = 1024 * 1024;

providerContract(
  engineHarness({
    name: 'tcpx, host memory',
    capability: 'matched',
    provider: 'tcpx',
    path: 'tcpx',
    onLostChannel: 'typed error',
    settings: PLUGIN_SETTINGS,
    slow: {},
    slowBytes: 16 * MIB,
    plugin: emulatorVariables,
  }),
);
