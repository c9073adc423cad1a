// How a channel ends. It is closed at once and reported; what it had in flight is kept until the
// peer has said how much of it landed (its fence). Then that much is confirmed, and the rest goes
// back to the main thread, which knows a channel that lives.

import { closeAccess } from '../../../memory/region-access.hot.js';
import { assert } from '../../../base/assert.js';
import { EPROTO } from '../shm/shm-ring.hot.js';
import { RULE_RING, RULE_UNASKED } from '../../../wire/data-frame-rules.js';
import { FRAME_SIGNAL, REFUSE_CHECKSUM } from '../../../wire/data-frame.js';
import { type Channel, FLIGHT_AGAIN, FLIGHT_HELD, FLIGHT_MASK, FLIGHT_SLOTS } from './channel.js';
import { onChunkConfirmed } from './chunk-confirmed.hot.js';
import { grantCredit } from './credit.js';
import { refuseFlight } from './refused-flight.hot.js';
import { dropIn } from './landing.hot.js';
import type { LaneHooks } from './lane-commands.js';
import { type LaneCore, sessionLane } from './lane-core.js';
import {
  EVENT_RESERVE_BYTES,
  OPERATION_SIGNAL,
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_FAILURE,
  TRANSFER_NOTIFY_FRAMED,
  TRANSFER_OPERATION,
  TRANSFER_REMAINING,
  TRANSFER_RETRIES,
  transferWord,
} from './layout.js';
import {
  DOWN_EVENT_WORDS,
  EVENT_CHANNEL_DOWN,
  LOSS_DROPPED,
  LOSS_END_OF_STREAM,
  LOSS_PROTOCOL,
  LOSS_SYSTEM,
  SETTLE_COMMAND_WORDS,
} from './messages.js';
import { publishRecords, reserveRecord, ringFreeBytes } from '../../../os/record-ring.hot.js';
import { dropServed, forgetServed } from './served-reads.hot.js';
import { dropOut } from './staging-send.hot.js';
import {
  confirmChunks,
  confirmNotify,
  giveUp,
  pushNotify,
  returnChunk,
  takeNotify,
} from './transfer-progress.hot.js';
import { TURN_DROPPED, TURN_RULE, TURN_SYSTEM } from './turn.js';

/** In place of a transfer: a signal that has gone elsewhere. */
const NO_TRANSFER = -1;

/** A turn ended below zero, or main gave the channel up: close it, tell main, keep its flight. */
export function endChannel(
  core: LaneCore,
  hooks: LaneHooks,
  channel: Channel,
  outcome: number,
): void {
  const frameKind =
    channel.stagingEnd >= 4 ? (channel.staging.uint8[channel.stagingStart] ?? 0) : 0;
  closeChannel(core, hooks, channel, true);
  uncountFlight(core, channel);
  reportDown(core, channel, outcome, frameKind);
  returnSignals(core, channel);
  const session = sessionLane(core, channel.sessionIndex);
  if (session.openChannels > 0) return;
  // Nobody here can send what waits for a channel; whole transfers stay for one that may come.
  for (let slot = takeNotify(core, session); slot >= 0; slot = takeNotify(core, session)) {
    pushNotify(core, session, slot);
  }
  while (session.retries.length > 0) {
    returnChunk(core, session.retries.shift() ?? 0, session.retries.shift() ?? 0);
  }
}

// A fence must not wait for another fence: two channels that are lost together would wait for each
// other. It may come twice; the second one says nothing new.
function returnSignals(core: LaneCore, channel: Channel): void {
  for (let at = channel.writeAcked; at !== channel.writeNext; at = (at + 1) | 0) {
    const flight = at & FLIGHT_MASK;
    if (channel.writeChunk[flight] !== -1) continue;
    const slot = channel.writeTransfer[flight] ?? 0;
    const operation = core.int32[transferWord(core.transfersAt, slot, TRANSFER_OPERATION)];
    if (operation !== OPERATION_SIGNAL) continue;
    channel.writeTransfer[flight] = NO_TRANSFER;
    returnChunk(core, slot, -1);
  }
}

// The next connection of this index must not take these chunks for some that it has sent itself.
function uncountFlight(core: LaneCore, channel: Channel): void {
  for (let at = channel.writeAcked; at !== channel.writeNext; at = (at + 1) | 0) {
    const flight = at & FLIGHT_MASK;
    if ((channel.writeChunk[flight] ?? 0) < 0) continue;
    addCount(core, channel, channel.writeTransfer[flight] ?? 0, -1);
  }
  for (let at = channel.readDone; at !== channel.readNext; at = (at + 1) | 0) {
    addCount(core, channel, channel.readTransfer[at & FLIGHT_MASK] ?? 0, -1);
  }
}

// Chunks of the transfer that went by this channel: with all of them, the notification may follow.
function addCount(core: LaneCore, channel: Channel, slot: number, count: number): void {
  const word = transferWord(core.transfersAt, slot, TRANSFER_CHANNEL_CHUNKS) + channel.channelIndex;
  core.int32[word] = (core.int32[word] ?? 0) + count;
}

function reportDown(core: LaneCore, channel: Channel, outcome: number, frameKind: number): void {
  const refusals = recentRefusals(channel);
  const words = DOWN_EVENT_WORDS + refusals.length;
  const at = reserveRecord(core.events, EVENT_CHANNEL_DOWN, words * 4) >> 2;
  assert(at >= 0, 'the event ring has room for the end of a channel');
  const [loss, detail] = lossOf(outcome);
  const { sessionIndex, channelIndex, epoch, landed } = channel;
  core.int32.set([sessionIndex, channelIndex, epoch, loss, detail, frameKind, landed], at);
  core.int32[at + DOWN_EVENT_WORDS - 1] = refusals.length / 2;
  core.int32.set(refusals, at + DOWN_EVENT_WORDS);
  publishRecords(core.events);
  core.hasNews = true;
}

function lossOf(outcome: number): [number, number] {
  // Only shared memory answers so, and it is the peer who wrote there.
  if (outcome === TURN_SYSTEM - EPROTO) return [LOSS_PROTOCOL, RULE_RING];
  if (outcome <= TURN_SYSTEM) return [LOSS_SYSTEM, TURN_SYSTEM - outcome];
  if (outcome <= TURN_RULE) return [LOSS_PROTOCOL, TURN_RULE - outcome];
  return [outcome === TURN_DROPPED ? LOSS_DROPPED : LOSS_END_OF_STREAM, 0];
}

// Sequence and reason of each refusal that the peer may not have heard of.
function recentRefusals(channel: Channel): number[] {
  const pairs: number[] = [];
  // Not in order of sequence: a frame of GPU memory is refused when it lands, others on arrival.
  for (let back = 1; back <= Math.min(channel.refusedCount, FLIGHT_SLOTS); back++) {
    const index = (channel.refusedCount - back) & FLIGHT_MASK;
    const sequence = channel.refusedSequence[index] ?? 0;
    const age = (channel.landed - sequence) | 0;
    if (age <= 0 || age > channel.windowChunks) continue;
    pairs.push(sequence, channel.refusedReason[index] ?? 0);
  }
  return pairs;
}

/** Nothing lands and nothing is sent on it from here on; its flight is parked. */
export function closeChannel(
  core: LaneCore,
  hooks: LaneHooks,
  channel: Channel,
  isAborted: boolean,
): void {
  core.channels.splice(core.channels.indexOf(channel), 1);
  sessionLane(core, channel.sessionIndex).openChannels--;
  channel.isOpen = false;
  hooks.onChannelRemoved(channel);
  dropStaged(core, channel);
  // Before the rest: what is given up later goes back to its owner, and a socket that is sending
  // from that memory must have let go of it.
  channel.destroy(isAborted);
  if (channel.frameRegion >= 0) closeAccess(core.regions, channel.frameRegion);
  dropServed(core, channel);
  core.parked.push(channel);
  grantCredit(core);
}

// Device copies first: they use memory that is given back, and what they make land belongs into
// the fence. Chunks that were not framed wait for another channel, or go with the session.
function dropStaged(core: LaneCore, channel: Channel): void {
  dropOut(channel);
  dropIn(core, channel);
  const { stage } = channel;
  const { retries } = sessionLane(core, channel.sessionIndex);
  for (; stage.outHead !== stage.outTail; stage.outHead = (stage.outHead + 1) | 0) {
    const at = stage.outHead & FLIGHT_MASK;
    retries.push(stage.outTransfer[at] ?? 0, stage.outChunk[at] ?? 0);
  }
}

/** The peer's fence, as in COMMAND_SETTLE_CHANNEL at this word. */
export function settleChannel(core: LaneCore, word: number): void {
  const count = core.int32[word + SETTLE_COMMAND_WORDS - 1] ?? 0;
  const words = core.int32.subarray(word, word + SETTLE_COMMAND_WORDS + 2 * count);
  const [sessionIndex = 0, channelIndex = 0, epoch = 0, landed = 0] = words;
  const channel = core.parked.find(
    (one) =>
      one.sessionIndex === sessionIndex && one.channelIndex === channelIndex && one.epoch === epoch,
  );
  if (channel === undefined) return;
  for (let at = SETTLE_COMMAND_WORDS; at + 1 < words.length; at += 2) {
    if (words[at + 1] === REFUSE_CHECKSUM && !core.isChecked) {
      reportDown(core, channel, TURN_RULE - RULE_UNASKED, FRAME_SIGNAL);
      return;
    }
    // A refused frame counts as landed. One that did not land was not refused either: it goes on.
    const isLanded = ((landed - (words[at] ?? 0)) | 0) > 0;
    if (isLanded) failRefused(core, channel, words[at] ?? 0, words[at + 1] ?? 0);
  }
  if (!confirmLanded(core, channel, landed)) {
    reportDown(core, channel, TURN_RULE - RULE_UNASKED, FRAME_SIGNAL);
    return;
  }
  holdNotifications(core, channel);
  forgetServed(core, channel);
  core.parked.splice(core.parked.indexOf(channel), 1);
  core.leaving.push(channel);
}

// As an acknowledgement; false when it is beyond what was sent.
function confirmLanded(core: LaneCore, channel: Channel, landed: number): boolean {
  const count = (landed - channel.writeAcked) | 0;
  if (count < 0 || count > ((channel.writeNext - channel.writeAcked) | 0)) return false;
  if (count > 0 && !channel.hasSent(landed - 1)) return false;
  for (let index = 0; index < count; index++) {
    const flight = channel.writeAcked & FLIGHT_MASK;
    const chunk = channel.writeChunk[flight] ?? 0;
    const slot = channel.writeTransfer[flight] ?? 0;
    channel.writeAcked = (channel.writeAcked + 1) | 0;
    if (slot === NO_TRANSFER || chunk === FLIGHT_AGAIN) continue;
    if (chunk >= 0) {
      addCount(core, channel, slot, 1);
      const sentUs = channel.writeSentUs[flight] ?? 0;
      onChunkConfirmed(core, channel, slot, chunk, sentUs, channel.writeDeliveredAt[flight] ?? 0);
    } else if (chunk === -1) confirmNotify(core, slot);
    confirmChunks(core, slot, 1);
  }
  return true;
}

function failRefused(core: LaneCore, channel: Channel, sequence: number, reason: number): void {
  const behind = (sequence - channel.writeAcked) | 0;
  if (behind < 0 || behind >= ((channel.writeNext - channel.writeAcked) | 0)) return;
  const flight = sequence & FLIGHT_MASK;
  // It goes again, and is taken from the count once more there.
  if (reason === REFUSE_CHECKSUM && (channel.writeChunk[flight] ?? -1) >= 0) {
    addCount(core, channel, channel.writeTransfer[flight] ?? 0, 1);
  }
  refuseFlight(core, channel, flight, reason);
}

// A notification in flight behind chunks of its own transfer: all of them went this way. Whoever
// confirms the last of them sends it. Decided before any of those chunks can go elsewhere.
function holdNotifications(core: LaneCore, channel: Channel): void {
  for (let at = channel.writeAcked; at !== channel.writeNext; at = (at + 1) | 0) {
    if (channel.writeChunk[at & FLIGHT_MASK] !== -1) continue;
    const slot = channel.writeTransfer[at & FLIGHT_MASK] ?? 0;
    if (slot === NO_TRANSFER) continue;
    const remaining = transferWord(core.transfersAt, slot, TRANSFER_REMAINING);
    if (Atomics.load(core.int32, remaining) === 1) continue;
    core.int32[transferWord(core.transfersAt, slot, TRANSFER_NOTIFY_FRAMED)] = 0;
    channel.writeChunk[at & FLIGHT_MASK] = FLIGHT_HELD;
  }
}

/** Hands back what did not land, as far as the event ring takes it. */
export function returnLeft(core: LaneCore): void {
  while (core.leaving.length > 0) {
    const channel = core.leaving[0];
    if (channel === undefined) return;
    while (hasFlight(channel)) {
      if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES) return;
      returnOne(core, channel);
    }
    core.leaving.shift();
  }
}

function returnOne(core: LaneCore, channel: Channel): void {
  const isWrite = channel.writeAcked !== channel.writeNext;
  const chunk = isWrite
    ? (channel.writeChunk[channel.writeAcked & FLIGHT_MASK] ?? 0)
    : (channel.readChunk[channel.readDone & FLIGHT_MASK] ?? 0);
  const slot = takeFlight(channel);
  if (slot < 0) return;
  const int32 = core.int32;
  if (Atomics.load(int32, transferWord(core.transfersAt, slot, TRANSFER_FAILURE)) !== 0) {
    confirmChunks(core, slot, 1);
    return;
  }
  Atomics.add(int32, transferWord(core.transfersAt, slot, TRANSFER_RETRIES), 1);
  returnChunk(core, slot, chunk);
}

// The transfer of the oldest frame in flight, which leaves the list; −1 where nothing is owed.
function takeFlight(channel: Channel): number {
  if (channel.writeAcked !== channel.writeNext) {
    const flight = channel.writeAcked & FLIGHT_MASK;
    channel.writeAcked = (channel.writeAcked + 1) | 0;
    const chunk = channel.writeChunk[flight] ?? 0;
    const isOwed = chunk !== FLIGHT_HELD && chunk !== FLIGHT_AGAIN;
    return isOwed ? (channel.writeTransfer[flight] ?? 0) : -1;
  }
  const flight = channel.readDone & FLIGHT_MASK;
  channel.readDone = (channel.readDone + 1) | 0;
  return channel.readTransfer[flight] ?? 0;
}

/** The session is over: nothing of its closed channels will be settled. */
export function giveUpParked(core: LaneCore, sessionIndex: number): void {
  for (const list of [core.parked, core.leaving]) {
    for (const channel of list.filter((one) => one.sessionIndex === sessionIndex)) {
      list.splice(list.indexOf(channel), 1);
      forgetServed(core, channel);
      while (hasFlight(channel)) {
        const slot = takeFlight(channel);
        if (slot >= 0) giveUp(core, slot);
      }
    }
  }
}

function hasFlight(channel: Channel): boolean {
  return channel.writeAcked !== channel.writeNext || channel.readDone !== channel.readNext;
}
