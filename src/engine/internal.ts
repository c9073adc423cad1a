// What tools of this project use of the engine beyond the public names.

export { Engine } from './engine.js';
export type { Receipt } from './receipt.js';
export type { Block } from './request.js';
export type { ChannelCounters, Request, Session } from './session.js';
export type { Transfer } from './transfer.js';
export { GpuBuffer } from '../memory/gpu-buffer.js';
export type { DeviceRange } from '../memory/region.js';
export type { Region, RegionDescriptor, RegionSource } from '../memory/region.js';
