// Whether a lane waits for much data rather than for a message. Then looking again in a loop gains
// nothing: the kernel's buffers bridge the wake-up, and the core is better spent on copying. One
// channel with bulk is enough for its lane: messages on others then pay a wake-up. And a
// wake-up for every packet costs the sender, which has to make it, more than the packet: the lane
// sleeps until there is something worth waking for.

import type { Channel } from './channel.js';
import { PHASE_PAYLOAD } from './intake.js';
import type { LaneCore } from './lane-core.js';

const BULK_BYTES = 64 * 1024;
/** With more than this in flight an acknowledgement is not worth a core. */
const BULK_FLIGHT_BYTES = 1024 * 1024;
/** Enough that a wake-up is worth it, and far less than a socket holds before its window closes. */
const WAKE_BYTES = 256 * 1024;

export function isAmidBulk(core: LaneCore): boolean {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.intake.phase === PHASE_PAYLOAD && channel.intake.payloadLeft > BULK_BYTES)
      return true;
    if (!channel.ready.isWritable && channel.vector.bytes > BULK_BYTES) return true;
    if (channel.credit.flightBytes > BULK_FLIGHT_BYTES) return true;
  }
  return false;
}

/**
 * Before a wait: from how many bytes on a socket is to wake the lane. Bulk only before a sleep, and
 * never more than the current payload: nobody has said that more will come. The kernel is told
 * where it changes alone, because every telling makes a socket ready once more.
 */
export function setWakes(core: LaneCore, isSleep: boolean): void {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.port.wakeAt === undefined) continue;
    const wanted = isSleep ? wakeBytesOf(channel) : 1;
    if (wanted === channel.ready.wakeBytes) continue;
    channel.port.wakeAt(wanted);
    channel.ready.setWake(wanted);
  }
}

function wakeBytesOf(channel: Channel): number {
  if (channel.intake.phase !== PHASE_PAYLOAD || channel.intake.payloadLeft <= BULK_BYTES) return 1;
  return channel.intake.payloadLeft < WAKE_BYTES ? channel.intake.payloadLeft : WAKE_BYTES;
}

/** After a sleep, whatever ended it: fewer bytes than that may have come, and nobody tells. */
export function readUntold(core: LaneCore): void {
  for (let index = 0; index < core.channels.length; index++) {
    const channel = core.channels[index]!;
    if (channel.ready.wakeBytes > 1) channel.ready.onReadable();
  }
}
