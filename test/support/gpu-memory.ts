// Memory of a simulated GPU, registered with an engine: `memory` is what lies there.

import type { Engine } from '../../src/engine/engine.js';
import { memoryRange } from '../../src/memory/region.js';
import { SimulatedGpus, toDeviceAddr } from './simulated-gpu.js';

/** A range that an engine with simulated GPUs takes; it keeps the memory alive. */
export function simulatedRange(bytes: number, device: number = SimulatedGpus.Healthy) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { device, addr: toDeviceAddr(memoryRange(memory).addr), bytes, memory };
}

export function registerSimulated(engine: Engine, bytes: number, device?: number) {
  const range = simulatedRange(bytes, device);
  return { memory: range.memory, region: engine.register(range) };
}

export function registerHost(engine: Engine, bytes: number) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  return { memory, region: engine.register(memory) };
}
