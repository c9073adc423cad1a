// Whether a lane waits for much data rather than for a message. Then looking again in a loop gains
// nothing: the kernel's buffers bridge the wake-up, and the core is better spent on copying.

import type { LaneCore } from './lane-core.js';
import { PHASE_PAYLOAD } from './channel.js';

const BULK_BYTES = 64 * 1024;

export function isAmidBulk(core: LaneCore): boolean {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.phase === PHASE_PAYLOAD && channel.payloadLeft > BULK_BYTES) return true;
    if (!channel.isWritable && channel.sendBytes > BULK_BYTES) return true;
  }
  return false;
}
