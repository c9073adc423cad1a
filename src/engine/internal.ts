// What tools of this project use of the engine beyond the public names.

export { GpuBuffer } from '../gpu/gpu-buffer.js';
export type { DeviceRange, Region, RegionDescriptor, RegionSource } from '../memory/region.js';
export type { PageKind, RegionMemory } from '../os/region-memory.js';
export type { BlockColumns } from '../provider/block-columns.js';
export type { Receipt } from '../provider/receipt.js';
export { nextSpinUs } from '../provider/tcp/lane/spin.js';
export {
  type DevmemVerdict,
  judgeDevmem,
  type NicDevmem,
  type NicIntake,
} from '../provider/tcpx/devmem-verdict.js';
export { describeThreads } from '../provider/tcpx/plugin-receipt.js';
export type { RegionShare } from '../provider/tcpx/region-share.js';
export { Engine, tcpxOf } from './engine.js';
export type { ChannelCounters, Session, TransferRequest } from './session.js';
export type { Transfer } from './transfer.js';
