// The end of a channel: what it holds is let go, main is told, and its flight is parked until the
// peer's fence says what has landed (channel-settle).

import { assert, at } from '../../../base/assert.js';
import { closeAccess } from '../../../memory/region-access.hot.js';
import { publishRecords, reserveRecord } from '../../../os/record-ring.hot.js';
import { RULE_RING } from '../../../wire/data-frame-rules.js';
import { EPROTO } from '../shm/shm-ring.hot.js';
import type { Channel } from './channel.js';
import { grantCredit } from './credit.js';
import { FLIGHT_MASK, FLIGHT_NOTIFY, FLIGHT_SLOTS } from './flight.js';
import { takeRegion } from './intake.hot.js';
import { dropIn } from './landing.hot.js';
import type { LaneHooks } from './lane-commands.js';
import { type LaneCore, sessionLane } from './lane-core.js';
import {
  OPERATION_SIGNAL,
  TRANSFER_CHANNEL_CHUNKS,
  TRANSFER_OPERATION,
  transferWord,
} from './layout.js';
import {
  DOWN_EVENT_WORDS,
  EVENT_CHANNEL_DOWN,
  LOSS_DAMAGED,
  LOSS_DROPPED,
  LOSS_END_OF_STREAM,
  LOSS_PROTOCOL,
  LOSS_SYSTEM,
} from './messages.js';
import { dropOut, takeUnframed } from './out-copies.hot.js';
import { disownWrite } from './own-writes.hot.js';
import { leaveTurns } from './pull-turns.js';
import { dropServed } from './served-reads.hot.js';
import { pushNotify, returnChunk, takeNotify } from './transfer-progress.hot.js';
import { TURN_DAMAGED, TURN_DROPPED, TURN_RULE, TURN_SYSTEM } from './turn.js';
import { shareUnsent } from './unsent-share.js';

/** A turn ended below zero, or main gave the channel up: close it, tell main, keep its flight. */
export function endChannel(
  core: LaneCore,
  hooks: LaneHooks,
  channel: Channel,
  outcome: number,
): void {
  assert(outcome < 0, 'a channel ends by a failed turn');
  const { intake } = channel;
  const frameKind = intake.stagingEnd >= 4 ? at(intake.staging.uint8, intake.stagingStart) : 0;
  closeChannel(core, hooks, channel, true);
  if (lossOf(outcome)[0] === LOSS_DAMAGED) channel.health.onDamage();
  uncountFlight(core, channel);
  reportDown(core, channel, outcome, frameKind);
  returnSignals(core, channel);
  const session = sessionLane(core, channel.sessionIndex);
  if (session.openChannels > 0) return;
  // Nobody here can send what waits for a channel; whole transfers stay for one that may come.
  for (let slot = takeNotify(core, session); slot >= 0; slot = takeNotify(core, session)) {
    pushNotify(core, session, slot);
  }
  const retries = session.retries.splice(0);
  for (let index = 0; index < retries.length; index += 2) {
    returnChunk(core, at(retries, index), at(retries, index + 1));
  }
}

// A fence must not wait for another fence: two channels that are lost together would wait for each
// other. It may come twice; the second one says nothing new.
function returnSignals(core: LaneCore, { writes }: Channel): void {
  for (let sequence = writes.acked; sequence !== writes.next; sequence = (sequence + 1) | 0) {
    const flight = sequence & FLIGHT_MASK;
    if (writes.chunk[flight] !== FLIGHT_NOTIFY) continue;
    const slot = at(writes.transfer, flight);
    const operation = core.int32[transferWord(core.transfersAt, slot, TRANSFER_OPERATION)];
    if (operation !== OPERATION_SIGNAL) continue;
    disownWrite(writes, flight);
    returnChunk(core, slot, FLIGHT_NOTIFY);
  }
}

// The next connection of this index must not take these chunks for some that it has sent itself.
function uncountFlight(core: LaneCore, channel: Channel): void {
  const { writes, reads } = channel;
  for (let sequence = writes.acked; sequence !== writes.next; sequence = (sequence + 1) | 0) {
    const flight = sequence & FLIGHT_MASK;
    if (at(writes.chunk, flight) < 0) continue;
    addCount(core, channel, at(writes.transfer, flight), -1);
  }
  for (let sequence = reads.done; sequence !== reads.next; sequence = (sequence + 1) | 0) {
    addCount(core, channel, at(reads.transfer, sequence & FLIGHT_MASK), -1);
  }
}

/** Chunks of the transfer that went by this channel: with all, the notification may follow. */
export function addCount(core: LaneCore, channel: Channel, slot: number, count: number): void {
  const word = transferWord(core.transfersAt, slot, TRANSFER_CHANNEL_CHUNKS) + channel.channelIndex;
  core.int32[word] = at(core.int32, word) + count;
}

export function reportDown(
  core: LaneCore,
  channel: Channel,
  outcome: number,
  frameKind: number,
): void {
  const refusals = recentRefusals(channel);
  const words = DOWN_EVENT_WORDS + refusals.length;
  const first = reserveRecord(core.events, EVENT_CHANNEL_DOWN, words * 4) >> 2;
  assert(first >= 0, 'the event ring has room for the end of a channel');
  const [loss, detail] = lossOf(outcome);
  const { sessionIndex, channelIndex, epoch, arrivals } = channel;
  const facts = [sessionIndex, channelIndex, epoch, loss, detail, frameKind, arrivals.landed];
  core.int32.set([...facts, refusals.length / 2], first);
  core.int32.set(refusals, first + DOWN_EVENT_WORDS);
  publishRecords(core.events);
  core.hasNews = true;
}

function lossOf(outcome: number): [number, number] {
  // Only shared memory answers so, and it is the peer who wrote there.
  if (outcome === TURN_SYSTEM - EPROTO) return [LOSS_PROTOCOL, RULE_RING];
  if (outcome <= TURN_SYSTEM) return [LOSS_SYSTEM, TURN_SYSTEM - outcome];
  if (outcome <= TURN_RULE) return [LOSS_PROTOCOL, TURN_RULE - outcome];
  if (outcome <= TURN_DAMAGED) return [LOSS_DAMAGED, TURN_DAMAGED - outcome];
  return [outcome === TURN_DROPPED ? LOSS_DROPPED : LOSS_END_OF_STREAM, 0];
}

// Sequence and reason of each refusal that the peer may not have heard of.
function recentRefusals({ refusals, arrivals, windowChunks }: Channel): number[] {
  const pairs: number[] = [];
  // Not in order of sequence: a frame of GPU memory is refused when it lands, others on arrival.
  for (let back = 1; back <= Math.min(refusals.pastCount, FLIGHT_SLOTS); back++) {
    const index = (refusals.pastCount - back) & FLIGHT_MASK;
    const sequence = at(refusals.pastSequence, index);
    const age = (arrivals.landed - sequence) | 0;
    if (age <= 0 || age > windowChunks) continue;
    pairs.push(sequence, at(refusals.pastReason, index));
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
  const index = core.channels.indexOf(channel);
  assert(index >= 0, 'a channel is closed once');
  core.channels.splice(index, 1);
  const session = sessionLane(core, channel.sessionIndex);
  if (!channel.isPeers) {
    assert(session.openChannels > 0, 'a session counts its channels');
    session.openChannels--;
  }
  leaveTurns(session, channel);
  channel.credit.end();
  hooks.onChannelRemoved(channel);
  dropStaged(core, channel);
  // Before the rest: what is given up later goes back to its owner, and a socket that is sending
  // from that memory must have let go of it.
  channel.destroy(isAborted);
  const region = takeRegion(channel.intake);
  if (region >= 0) closeAccess(core.regions, region);
  dropServed(core, channel);
  core.parked.push(channel);
  grantCredit(core);
  shareUnsent(core);
}

// Device copies first: they use memory that is given back, and what they make land belongs into
// the fence. Chunks that were not framed wait for another channel, or go with the session.
function dropStaged(core: LaneCore, channel: Channel): void {
  dropOut(channel);
  dropIn(core, channel);
  const { copies } = channel;
  const { retries } = sessionLane(core, channel.sessionIndex);
  for (let place = takeUnframed(copies); place >= 0; place = takeUnframed(copies)) {
    retries.push(at(copies.transfer, place), at(copies.chunk, place));
  }
}
