// The providers' suite over the tcpx provider with GPU memory. Runs on a GPU, or on a stand-in for
// libcuda that provider-vram.test.ts puts in its place.

import { after } from 'node:test';
import { emulatorVariables } from '../native/plugin-environment.js';
import { PLUGIN_SETTINGS } from '../native/plugin-params.js';
import { VramWorld } from '../native/vram-world.js';
import { providerContract } from './provider.js';
import { engineHarness } from './provider-engines.js';

const MIB = 1024 * 1024;
const RELEASE_WAIT_MS = 5000;

const world = new VramWorld();
after(() => world.close());

providerContract(
  engineHarness({
    name: world.isReal ? 'tcpx, GPU memory' : 'tcpx, GPU memory (stand-in)',
    capability: 'matched',
    provider: 'tcpx',
    path: 'tcpx',
    onLostChannel: 'typed error',
    settings: PLUGIN_SETTINGS,
    slow: {},
    slowBytes: 16 * MIB,
    plugin: { ...emulatorVariables, TCPX_EMU_MEMORY: 'cuda' },
    place: (engine, bytes, grant) => {
      const memory = world.allocate(bytes);
      const region = engine.register({ device: 0, addr: memory.addr, bytes }, grant);
      return {
        end: engine,
        region,
        bytes,
        fill: (seed) => world.fill(memory, seed),
        mismatches: (seed) => world.mismatches(memory, seed),
        release: async () => {
          await engine.deregister(region, RELEASE_WAIT_MS);
          memory.free();
        },
      };
    },
  }),
);
