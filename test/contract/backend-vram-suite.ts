// The contract suite of backends on TCPX with the emulated plugin: host memory that it reaches and
// GPU memory, in all combinations. Runs on a GPU, or on a stand-in for libcuda that backend-
// vram.test.ts puts in its place.

import { MemType } from '../../src/nixl/memory-type.js';
import { backendContract } from './backend.js';
import { deviceMemory } from './device-world.js';
import { type Allocate, pluginWorld, sharedMemory, usePlugin } from './plugin-world.js';

const params = usePlugin({ TCPX_EMU_MEMORY: 'cuda' });

const allocate: Allocate = (backend, memType, byteCount) =>
  memType === MemType.VRAM ? deviceMemory(byteCount) : sharedMemory(backend, memType, byteCount);

backendContract({
  name: 'TCPX through the plugin',
  openWorld: () => Promise.resolve(pluginWorld(params, allocate, [MemType.DRAM, MemType.VRAM])),
});
