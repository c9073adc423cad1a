// Whether channels stand still. A cut link gives no error by itself: what shows it is that nothing
// moves although something is in flight. Looked at now and then, never per chunk.

import { assert } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import type { Channel } from './channel.js';
import type { LaneCore } from './lane-core.js';
import { popExhausted } from './transfer-progress.hot.js';
import { EVENT_STALLED } from './messages.js';
import { publishRecords, reserveRecord } from '../../../os/record-ring.hot.js';

/** How often a lane looks. */
export const HEALTH_US = 50_000;
/** A longer pause means that this thread did not run: the channels could not move. */
const PAUSE_US = 4 * HEALTH_US;
/** How much longer a peer may take whose kernel answers. */
const SLOW_FACTOR = 3;

/** When something was last seen to move, and what stood there then. Written in this file alone. */
export class ChannelHealth {
  progressUs = FLOAT_ZERO;
  progressMark = Number.NEGATIVE_INFINITY;
  queuedBytes = FLOAT_ZERO;
  isStalled = false;
  /** Bytes received when it was found to stand still. */
  stalledAtBytes = FLOAT_ZERO;
  /** The channel has ended because what came was not what was sent. */
  isDamaged = false;

  onDamage(): void {
    this.isDamaged = true;
  }
}

export function checkHealth(core: LaneCore, nowUs: number): void {
  const hasSlept = nowUs - core.healthUs >= PAUSE_US;
  core.healthUs = nowUs;
  for (const channel of core.channels) {
    const { health } = channel;
    if (hasSlept || hasMoved(channel)) {
      health.progressUs = nowUs;
      if (health.isStalled && !hasSlept) report(core, channel, false);
    } else if (!health.isStalled && isStuck(channel, nowUs - health.progressUs, core.stallUs)) {
      report(core, channel, true);
    }
  }
  for (const session of core.sessions) {
    // A channel that is blocked claims nothing, and would hold what others have finished.
    if (session.activeHead >= 0) popExhausted(core, session);
  }
}

// Bytes came, the kernel took bytes, its queue shrank, or there is nothing to wait for. The end
// that serves reads waits for its queue to empty: it sees a cut that the reader cannot see.
function hasMoved(channel: Channel): boolean {
  const { health } = channel;
  if (health.isStalled) return hasAnswered(channel);
  const mark = channel.vector.sentBytes + channel.intake.receivedBytes;
  if (mark !== health.progressMark) {
    health.progressMark = mark;
    health.queuedBytes = Number.POSITIVE_INFINITY;
    return true;
  }
  const isOwed = isWaiting(channel);
  if (health.queuedBytes === 0) return !isOwed;
  const queuedBytes = channel.port.queuedBytes();
  const hasShrunk = queuedBytes < health.queuedBytes;
  health.queuedBytes = queuedBytes;
  return hasShrunk || (queuedBytes === 0 && !isOwed);
}

// A vector that the kernel does not take counts too: others may wait behind it.
function isWaiting(channel: Channel): boolean {
  return channel.vector.count !== 0 || channel.hasFlight();
}

// One that stood still moves again when the peer's program is heard of: its kernel also takes the
// fences that are sent meanwhile.
function hasAnswered(channel: Channel): boolean {
  if (channel.intake.receivedBytes !== channel.health.stalledAtBytes) return true;
  return !isWaiting(channel) && channel.port.queuedBytes() === 0;
}

// Soon where the kernel says that nobody answers; later where the peer's kernel answers and only
// its program does not, as under many senders or in a stopped process.
function isStuck(channel: Channel, stillUs: number, stallUs: number): boolean {
  if (stillUs < stallUs) return false;
  return stillUs >= SLOW_FACTOR * stallUs || channel.port.isPathSilent();
}

function report(core: LaneCore, channel: Channel, isStalled: boolean): void {
  const { health } = channel;
  assert(health.isStalled !== isStalled, 'a channel is reported when it changes');
  health.isStalled = isStalled;
  health.stalledAtBytes = channel.intake.receivedBytes;
  const at = reserveRecord(core.events, EVENT_STALLED, 16) >> 2;
  assert(at >= 0, 'the event ring has room for the health of a channel');
  const { sessionIndex, channelIndex, epoch } = channel;
  core.int32.set([sessionIndex, channelIndex, epoch, isStalled ? 1 : 0], at);
  publishRecords(core.events);
  core.hasNews = true;
}
