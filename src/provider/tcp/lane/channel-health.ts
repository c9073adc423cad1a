// Whether channels stand still. A cut link gives no error by itself: what shows it is that nothing
// moves although something is in flight. Looked at now and then, never per chunk.

import { assert, at } from '../../../base/assert.js';
import { FLOAT_ZERO } from '../../../base/float-zero.js';
import { REGION_GENERATION, regionWord } from '../../../memory/region-table.js';
import { publishRecords, reserveRecord } from '../../../os/record-ring.hot.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK } from './flight.js';
import { type LaneCore, sessionLane } from './lane-core.js';
import { EVENT_STALLED, STALLED_HOLDS, STALLED_NO, STALLED_YES } from './messages.js';
import { joinTurns, leaveTurns } from './pull-turns.js';
import { popExhausted } from './transfer-progress.hot.js';

/** How often a lane looks. */
export const HEALTH_US = 25_000;
/** A longer pause means that this thread did not run: the channels could not move. */
const PAUSE_US = 200_000;
/** Others pull in place of a channel that has stood still for so long. */
const STILL_US = 2 * HEALTH_US;
/** How much longer a peer may take whose kernel answers. */
const SLOW_FACTOR = 9;
/** How many times session.stallMs a peer may stay in a region that is being deregistered. */
const HOLDS_FACTOR = 15;

/** When something was last seen to move, and what stood there then. Written in this file alone. */
export class ChannelHealth {
  progressUs = FLOAT_ZERO;
  progressMark = Number.NEGATIVE_INFINITY;
  queuedBytes = FLOAT_ZERO;
  isStalled = false;
  /** Bytes received when it was found to stand still. */
  stalledAtBytes = FLOAT_ZERO;
  /** Since when the peer is in the middle of a region that is being deregistered; 0 for not. */
  holdsUs = FLOAT_ZERO;
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
      if (!health.isStalled) joinTurns(sessionLane(core, channel.sessionIndex), channel);
    } else {
      const stillUs = nowUs - health.progressUs;
      if (stillUs >= STILL_US) leaveTurns(sessionLane(core, channel.sessionIndex), channel);
      if (!health.isStalled && isStuck(channel, stillUs, core.stallUs)) {
        report(core, channel, true);
      }
    }
    checkHolds(core, channel, nowUs, hasSlept);
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

// New accesses are refused from the mark on. A peer that neither finishes those that it has, nor
// says that it has finished, would keep the owner waiting for ever.
function checkHolds(core: LaneCore, channel: Channel, nowUs: number, hasSlept: boolean): void {
  const { health } = channel;
  if (!holdsClosing(core, channel)) {
    health.holdsUs = 0;
  } else if (health.holdsUs === 0 || hasSlept) {
    health.holdsUs = nowUs;
  } else if (nowUs - health.holdsUs >= HOLDS_FACTOR * core.stallUs) {
    health.holdsUs = nowUs;
    tell(core, channel, STALLED_HOLDS);
  }
}

function holdsClosing(core: LaneCore, { intake, served }: Channel): boolean {
  if (isClosing(core, intake.frameRegion)) return true;
  for (let place = served.done; place !== served.tail; place = (place + 1) | 0) {
    if (isClosing(core, at(served.region, place & FLIGHT_MASK))) return true;
  }
  return false;
}

function isClosing(core: LaneCore, region: number): boolean {
  if (region < 0) return false;
  return Atomics.load(core.regions.int32, regionWord(region, REGION_GENERATION)) < 0;
}

function report(core: LaneCore, channel: Channel, isStalled: boolean): void {
  const { health } = channel;
  assert(health.isStalled !== isStalled, 'a channel is reported when it changes');
  health.isStalled = isStalled;
  health.stalledAtBytes = channel.intake.receivedBytes;
  tell(core, channel, isStalled ? STALLED_YES : STALLED_NO);
}

function tell(core: LaneCore, channel: Channel, what: number): void {
  const first = reserveRecord(core.events, EVENT_STALLED, 16) >> 2;
  assert(first >= 0, 'the event ring has room for the health of a channel');
  const { sessionIndex, channelIndex, epoch } = channel;
  core.int32.set([sessionIndex, channelIndex, epoch, what], first);
  publishRecords(core.events);
  core.hasNews = true;
}
