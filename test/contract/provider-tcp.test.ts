// The providers' suite over TCP lanes in all their ways of progress, and over shared memory.

import type { SettingValues } from '../../src/base/settings.js';
import { providerContract } from './provider.js';
import { engineHarness } from './provider-engines.js';

const MIB = 1024 * 1024;
/** One small chunk at a time: a few megabytes take their time. */
const SLOW: Partial<SettingValues> = {
  'flow.chunkBytes': 4096,
  'flow.windowChunks': 1,
  'session.minRateBytes': 4096,
};

const WORLDS: Readonly<Record<string, Partial<SettingValues>>> = {
  'tcp lanes': { 'session.local': 'tcp' },
  'tcp caller': { 'session.local': 'tcp', 'lane.progress': 'caller' },
  'tcp 2 lanes, 4 channels': {
    'session.local': 'tcp',
    'lane.count': 2,
    'flow.channels': 4,
    'flow.chunkBytes': 64 * 1024,
  },
  // What two engines of one host get that set nothing.
  'shared memory': {},
  'shared memory, caller': { 'lane.progress': 'caller' },
};
/** As the node service has them: one channel more than there are threads. */
const OWN_LANE_WORLDS: typeof WORLDS = {
  'tcp, own lane': { 'session.local': 'tcp', 'flow.channels': 2 },
  'shared memory, own lane': { 'flow.channels': 2 },
};

for (const [name, settings] of Object.entries({ ...WORLDS, ...OWN_LANE_WORLDS })) {
  providerContract(
    engineHarness({
      name,
      capability: 'addressed',
      provider: 'tcp',
      path: settings['session.local'] === 'tcp' ? 'tcp host' : 'shm',
      onLostChannel: 'another takes over',
      settings: { 'engine.provider': 'tcp', ...settings },
      slow: SLOW,
      slowBytes: 8 * MIB,
      isServed: name in OWN_LANE_WORLDS,
    }),
  );
}
