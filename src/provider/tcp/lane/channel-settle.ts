// After the end of a channel: the peer's fence says what has landed. Only then is the rest of the
// flight handed back, to be sent on other channels, or given up with the session.

import { assert, at } from '../../../base/assert.js';
import { FAIL_CHECKSUM } from '../../../base/failure.js';
import { ringFreeBytes } from '../../../os/record-ring.hot.js';
import { FRAME_SIGNAL } from '../../../wire/data-frame.js';
import { RULE_UNASKED } from '../../../wire/data-frame-rules.js';
import type { Channel } from './channel.js';
import { addCount, reportDown } from './channel-end.js';
import { onChunkConfirmed } from './chunk-confirmed.hot.js';
import { blameOldest } from './damaged-chunk.hot.js';
import { FLIGHT_AGAIN, FLIGHT_HELD, FLIGHT_MASK, FLIGHT_NOTIFY, NO_TRANSFER } from './flight.js';
import type { LaneCore } from './lane-core.js';
import {
  EVENT_RESERVE_BYTES,
  TRANSFER_FAILURE,
  TRANSFER_NOTIFY_FRAMED,
  TRANSFER_REMAINING,
  TRANSFER_RETRIES,
  transferWord,
} from './layout.js';
import { SETTLE_COMMAND_WORDS } from './messages.js';
import { takeRead } from './own-reads.hot.js';
import { hasSent, isWriteInFlight, markWrite, takeWrite } from './own-writes.hot.js';
import { refuseFlight } from './refused-flight.hot.js';
import { forgetServed } from './served-reads.hot.js';
import { confirmChunks, confirmNotify, giveUp, returnChunk } from './transfer-progress.hot.js';
import { TURN_RULE } from './turn.js';

/** The peer's fence, as in COMMAND_SETTLE_CHANNEL at this word. */
export function settleChannel(core: LaneCore, word: number): void {
  const count = at(core.int32, word + SETTLE_COMMAND_WORDS - 1);
  const words = core.int32.subarray(word, word + SETTLE_COMMAND_WORDS + 2 * count);
  const [sessionIndex, channelIndex, epoch] = words;
  const landed = at(words, 3);
  const channel = core.parked.find(
    (one) =>
      one.sessionIndex === sessionIndex && one.channelIndex === channelIndex && one.epoch === epoch,
  );
  if (channel === undefined) return;
  for (let pair = SETTLE_COMMAND_WORDS; pair < words.length; pair += 2) {
    const [sequence, reason] = [at(words, pair), at(words, pair + 1)];
    if (reason === FAIL_CHECKSUM && !channel.isChecked) {
      reportDown(core, channel, TURN_RULE - RULE_UNASKED, FRAME_SIGNAL);
      return;
    }
    // A refused frame counts as landed. One that did not land was not refused either: it goes on.
    if (((landed - sequence) | 0) > 0) failRefused(core, channel, sequence, reason);
  }
  if (!confirmLanded(core, channel, landed)) {
    reportDown(core, channel, TURN_RULE - RULE_UNASKED, FRAME_SIGNAL);
    return;
  }
  if (channel.health.isDamaged || at(words, 4) === 1) blameOldest(core, channel);
  holdNotifications(core, channel);
  forgetServed(core, channel);
  core.parked.splice(core.parked.indexOf(channel), 1);
  core.leaving.push(channel);
}

// As an acknowledgement; false when it is beyond what was sent.
function confirmLanded(core: LaneCore, channel: Channel, landed: number): boolean {
  const { writes } = channel;
  const count = (landed - writes.acked) | 0;
  if (count < 0 || count > ((writes.next - writes.acked) | 0)) return false;
  if (count > 0 && !hasSent(channel, landed - 1)) return false;
  for (let index = 0; index < count; index++) {
    const flight = takeWrite(writes);
    const chunk = at(writes.chunk, flight);
    const slot = at(writes.transfer, flight);
    if (slot === NO_TRANSFER || chunk === FLIGHT_AGAIN) continue;
    if (chunk >= 0) {
      addCount(core, channel, slot, 1);
      const deliveredAt = at(writes.deliveredAt, flight);
      onChunkConfirmed(core, channel, slot, chunk, at(writes.sentUs, flight), deliveredAt);
    } else if (chunk === FLIGHT_NOTIFY) confirmNotify(core, slot);
    confirmChunks(core, slot, 1);
  }
  return true;
}

function failRefused(core: LaneCore, channel: Channel, sequence: number, reason: number): void {
  const { writes } = channel;
  if (!isWriteInFlight(writes, sequence)) return;
  const flight = sequence & FLIGHT_MASK;
  // It goes again, and is taken from the count once more there.
  if (reason === FAIL_CHECKSUM && at(writes.chunk, flight) >= 0) {
    addCount(core, channel, at(writes.transfer, flight), 1);
  }
  refuseFlight(core, channel, flight, reason);
}

// A notification in flight behind chunks of its own transfer: all of them went this way. Whoever
// confirms the last of them sends it. Decided before any of those chunks can go elsewhere.
function holdNotifications(core: LaneCore, { writes }: Channel): void {
  for (let sequence = writes.acked; sequence !== writes.next; sequence = (sequence + 1) | 0) {
    const flight = sequence & FLIGHT_MASK;
    if (writes.chunk[flight] !== FLIGHT_NOTIFY) continue;
    const slot = at(writes.transfer, flight);
    if (slot === NO_TRANSFER) continue;
    const remaining = transferWord(core.transfersAt, slot, TRANSFER_REMAINING);
    if (Atomics.load(core.int32, remaining) === 1) continue;
    core.int32[transferWord(core.transfersAt, slot, TRANSFER_NOTIFY_FRAMED)] = 0;
    markWrite(writes, flight, FLIGHT_HELD);
  }
}

/** Hands back what did not land, as far as the event ring takes it. */
export function returnLeft(core: LaneCore): void {
  for (let channel = core.leaving[0]; channel !== undefined; channel = core.leaving[0]) {
    while (channel.hasFlight()) {
      if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES) return;
      returnOne(core, channel);
    }
    core.leaving.shift();
  }
}

function returnOne(core: LaneCore, channel: Channel): void {
  const { slot, chunk } = takeFlight(channel);
  if (slot === NO_TRANSFER) return;
  const int32 = core.int32;
  if (Atomics.load(int32, transferWord(core.transfersAt, slot, TRANSFER_FAILURE)) !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  Atomics.add(int32, transferWord(core.transfersAt, slot, TRANSFER_RETRIES), 1);
  returnChunk(core, slot, chunk);
}

// The oldest frame in flight, which leaves the list; without a transfer where nothing is owed.
function takeFlight(channel: Channel): { readonly slot: number; readonly chunk: number } {
  const { writes, reads } = channel;
  assert(channel.hasFlight(), 'a frame is taken from a flight that has one');
  if (writes.acked === writes.next) {
    const flight = takeRead(reads);
    return { slot: at(reads.transfer, flight), chunk: at(reads.chunk, flight) };
  }
  const flight = takeWrite(writes);
  const chunk = at(writes.chunk, flight);
  const isOwed = chunk !== FLIGHT_HELD && chunk !== FLIGHT_AGAIN;
  return { slot: isOwed ? at(writes.transfer, flight) : NO_TRANSFER, chunk };
}

/** The session is over: nothing of its closed channels will be settled. */
export function giveUpParked(core: LaneCore, sessionIndex: number): void {
  for (const list of [core.parked, core.leaving]) {
    for (const channel of list.filter((one) => one.sessionIndex === sessionIndex)) {
      list.splice(list.indexOf(channel), 1);
      forgetServed(core, channel);
      while (channel.hasFlight()) {
        const { slot } = takeFlight(channel);
        if (slot !== NO_TRANSFER) giveUp(core, slot);
      }
    }
  }
}
