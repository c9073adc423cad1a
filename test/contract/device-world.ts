// Memory of the first GPU for suites of a whole file; freed at its end.

import { after } from 'node:test';
import { DeviceMemory } from '../../src/ffi/cuda/device-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { VramWorld } from '../native/vram-world.js';
import type { ContractMemory } from './backend-world.js';

const world = new VramWorld();
const allocated: DeviceMemory[] = [];
after(() => {
  world.context.makeCurrent();
  for (const memory of allocated) memory.free();
  world.close();
});

export function deviceMemory(byteCount: number): ContractMemory {
  world.context.makeCurrent();
  const memory = new DeviceMemory(world.context, byteCount);
  allocated.push(memory);
  const current = <T>(use: () => T): T => {
    world.context.makeCurrent();
    return use();
  };
  return {
    memType: MemType.VRAM,
    addr: memory.addr,
    len: byteCount,
    devId: 0,
    write: (offset, source) => current(() => memory.write(offset, source)),
    read: (offset, len) => current(() => memory.read(offset, len)),
  };
}
