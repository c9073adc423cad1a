// Whether a lane waits for much data rather than for a message. Then looking again in a loop gains
// nothing: the kernel's buffers bridge the wake-up, and the core is better spent on copying. And a
// wake-up for every packet costs the sender, which has to make it, more than the packet: the lane
// sleeps until there is something worth waking for.

import type { LaneCore } from './lane-core.js';
import { PHASE_PAYLOAD } from './channel.js';

const BULK_BYTES = 64 * 1024;
/** Half of what a socket holds before its window closes, with the kernel's usual buffers. */
const WAKE_BYTES = 256 * 1024;

export function isAmidBulk(core: LaneCore): boolean {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.phase === PHASE_PAYLOAD && channel.payloadLeft > BULK_BYTES) return true;
    if (!channel.isWritable && channel.sendBytes > BULK_BYTES) return true;
  }
  return false;
}

/** Before a sleep. Never more than the current payload: nobody has said that more will come. */
export function raiseWakes(core: LaneCore): void {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.phase !== PHASE_PAYLOAD || channel.payloadLeft <= BULK_BYTES) continue;
    if (channel.port.wakeAt === undefined) continue;
    channel.port.wakeAt(channel.payloadLeft < WAKE_BYTES ? channel.payloadLeft : WAKE_BYTES);
    channel.isWakeRaised = true;
  }
}

/** After it, whatever ended it: readiness is told once, and fewer bytes may have come. */
export function lowerWakes(core: LaneCore): void {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (!channel.isWakeRaised) continue;
    channel.port.wakeAt?.(1);
    channel.isWakeRaised = false;
    channel.isReadable = true;
  }
}
