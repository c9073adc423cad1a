// Whether channels stand still. A cut link gives no error by itself: what shows it is that nothing
// moves although something is in flight. Looked at now and then, never per chunk.

import { assert } from '../base/assert.js';
import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';
import { popExhausted } from './transfer-progress.hot.js';
import { EVENT_STALLED } from './messages.js';
import { publishRecords, reserveRecord } from './record-ring.hot.js';

/** How often a lane looks. */
export const HEALTH_US = 50_000;
/** A longer pause means that this thread did not run: the channels could not move. */
const PAUSE_US = 4 * HEALTH_US;

export function checkHealth(core: LaneCore, nowUs: number): void {
  const hasSlept = nowUs - core.healthUs >= PAUSE_US;
  core.healthUs = nowUs;
  for (const channel of core.channels) {
    if (hasSlept || hasMoved(channel, nowUs, core.stallUs)) {
      channel.progressUs = nowUs;
      if (channel.isStalled && !hasSlept) report(core, channel, false);
    } else if (!channel.isStalled && nowUs - channel.progressUs >= core.stallUs) {
      report(core, channel, true);
    }
  }
  for (const session of core.sessions) {
    if (session.openChannels === 0 && session.activeHead >= 0) popExhausted(core, session);
  }
}

// Bytes came, the kernel took bytes, its queue shrank, or there is nothing to wait for.
function hasMoved(channel: Channel, nowUs: number, stallUs: number): boolean {
  const mark = channel.sentBytes + channel.receivedBytes;
  const isIdle = channel.writeNext === channel.writeAcked && channel.readNext === channel.readDone;
  if (mark !== channel.progressMark || isIdle) {
    channel.progressMark = mark;
    channel.queuedBytes = Number.POSITIVE_INFINITY;
    return true;
  }
  // Asking the kernel costs a call: only when the suspicion is there.
  if (nowUs - channel.progressUs < stallUs / 2) return false;
  const queuedBytes = channel.port.queuedBytes();
  const hasShrunk = queuedBytes < channel.queuedBytes && Number.isFinite(channel.queuedBytes);
  channel.queuedBytes = queuedBytes;
  return hasShrunk;
}

function report(core: LaneCore, channel: Channel, isStalled: boolean): void {
  channel.isStalled = isStalled;
  const at = reserveRecord(core.events, EVENT_STALLED, 16) >> 2;
  assert(at >= 0, 'the event ring has room for the health of a channel');
  const { sessionIndex, channelIndex, epoch } = channel;
  core.int32.set([sessionIndex, channelIndex, epoch, isStalled ? 1 : 0], at);
  publishRecords(core.events);
  core.hasNews = true;
}
