// What each frame does: place bytes, serve a read, deliver a notification, retire what is
// acknowledged or refused. `word` is the first word of its head in the intake's staging.

import { FAIL_CHECKSUM } from '../../../base/failure.js';
import { copyMemory } from '../../../os/fixed-memory.js';
import { publishRecords, reserveRecord, ringFreeBytes } from '../../../os/record-ring.hot.js';
import { NOTIFICATION_EVENT_BYTES } from '../../../os/record-ring.js';
import {
  DATA_HEAD_BYTES,
  FRAME_ACK,
  FRAME_NOTIFY,
  FRAME_READ_DATA,
  FRAME_READ_REQUEST,
  FRAME_REFUSE,
  FRAME_SIGNAL,
  FRAME_WRITE,
  WORD_ACK,
  WORD_COPY_US,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_SEQUENCE,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import { RULE_OWN_CHANNEL, RULE_SEQUENCE, RULE_UNASKED } from '../../../wire/data-frame-rules.js';
import type { Channel } from './channel.js';
import { onChunkConfirmed } from './chunk-confirmed.hot.js';
import { FLIGHT_AGAIN, FLIGHT_MASK, FLIGHT_NOTIFY, NO_TRANSFER } from './flight.js';
import { freeConfirmedSlot } from './held-slots.hot.js';
import { onReadRefused } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import { ENGINE_NOTIFICATIONS, EVENT_RESERVE_BYTES, TRANSFER_PEER_COPY_US } from './layout.js';
import { EVENT_NOTIFICATION, EVENT_SIGNAL } from './messages.js';
import { addStageUs } from './out-copies.hot.js';
import { isAnswerOwed } from './own-reads.hot.js';
import { hasSent, isWriteInFlight, takePeerCopies, takeWrite } from './own-writes.hot.js';
import { onReadData, onReadRequest, onWrite } from './payload-frames.hot.js';
import { isTransferRefused } from './refusals.hot.js';
import { refuseFlight } from './refused-flight.hot.js';
import { confirmServed } from './served-reads.hot.js';
import { confirmChunks, confirmNotify } from './transfer-progress.hot.js';
import { FRAME_TAKEN, FRAME_WAITS, TURN_RULE } from './turn.js';

/** Everything up to `acknowledged` has landed at the peer. */
export function onAck(core: LaneCore, channel: Channel, acknowledged: number): number {
  const { writes, held } = channel;
  const count = (acknowledged - writes.acked) | 0;
  if (count === 0) return FRAME_TAKEN;
  const isMade = count > 0 && count <= ((writes.next - writes.acked) | 0);
  if (!isMade || !hasSent(channel, acknowledged - 1)) return TURN_RULE - RULE_UNASKED;
  for (let index = 0; index < count; index++) {
    const flight = takeWrite(writes);
    const chunk = writes.chunk[flight]!;
    const slot = writes.transfer[flight]!;
    if (held.flightSlot[flight]! >= 0) freeConfirmedSlot(channel, flight);
    if (chunk === FLIGHT_AGAIN) continue;
    if (chunk >= 0) {
      const deliveredAt = writes.deliveredAt[flight]!;
      onChunkConfirmed(core, channel, slot, chunk, writes.sentUs[flight]!, deliveredAt);
    } else if (chunk === FLIGHT_NOTIFY) confirmNotify(core, slot);
    confirmChunks(core, slot, 1);
  }
  return FRAME_TAKEN;
}

/** What the head of any frame says of the frames of the other direction. */
export function onHeadAck(core: LaneCore, channel: Channel, kind: number, word: number): number {
  const words = channel.intake.staging.uint32;
  const acknowledged = words[word + WORD_ACK]!;
  if (kind === FRAME_ACK) onPeerCopies(core, channel, words[word + WORD_COPY_US]!, acknowledged);
  return onAck(core, channel, acknowledged);
}

// Before an ACK counts: what it tells of the peer's copies belongs to the oldest transfer that it
// confirms a frame of. Where frames of the other direction have confirmed all, the next ACK tells.
function onPeerCopies(
  core: LaneCore,
  channel: Channel,
  copiedUs: number,
  acknowledged: number,
): void {
  const { writes } = channel;
  if (writes.acked === writes.next || ((acknowledged - writes.acked) | 0) <= 0) return;
  const slot = writes.transfer[writes.acked & FLIGHT_MASK]!;
  if (slot === NO_TRANSFER) return;
  const us = takePeerCopies(writes, copiedUs);
  if (us !== 0) addStageUs(core, slot, TRANSFER_PEER_COPY_US, us);
}

/** What an end posts; the rest answers. */
function isOperation(kind: number): boolean {
  const isData = kind === FRAME_WRITE || kind === FRAME_READ_REQUEST;
  return isData || kind === FRAME_NOTIFY || kind === FRAME_SIGNAL;
}

export function dispatchFrame(
  core: LaneCore,
  channel: Channel,
  kind: number,
  word: number,
  entries: number,
): number {
  if (channel.isOwn && isOperation(kind)) return TURN_RULE - RULE_OWN_CHANNEL;
  switch (kind) {
    case FRAME_WRITE:
      return onWrite(core, channel, word, entries);
    case FRAME_READ_DATA:
      return onReadData(core, channel, word);
    case FRAME_READ_REQUEST:
      return onReadRequest(core, channel, word, entries);
    case FRAME_NOTIFY:
    case FRAME_SIGNAL:
      return onNotify(core, channel, word, kind);
    case FRAME_REFUSE:
      return onRefuse(core, channel, word);
    case FRAME_ACK:
      return onAckFrame(core, channel, word);
    default:
      return FRAME_TAKEN;
  }
}

// How much the receiver can take, and how many answers to its reads have landed.
function onAckFrame(core: LaneCore, channel: Channel, word: number): number {
  const words = channel.intake.staging.uint32;
  const landed = words[word + WORD_SEQUENCE]!;
  if (!confirmServed(core, channel, landed)) return TURN_RULE - RULE_UNASKED;
  channel.credit.onCredit(words[word + WORD_OPERATION_BYTES]!);
  return FRAME_TAKEN;
}

function onNotify(core: LaneCore, channel: Channel, word: number, kind: number): number {
  const { intake, arrivals } = channel;
  const words = intake.staging.uint32;
  if (words[word + WORD_SEQUENCE]! !== arrivals.arrived >>> 0) return TURN_RULE - RULE_SEQUENCE;
  // What it speaks of may still be on its way into GPU memory.
  if (arrivals.arrived !== arrivals.landed) return FRAME_WAITS;
  const bytes = words[word + WORD_PAYLOAD_BYTES]!;
  const isSignal = kind === FRAME_SIGNAL;
  const isRefused =
    !isSignal &&
    isTransferRefused(
      channel.refusals,
      words[word + WORD_TRANSFER_LOW]!,
      words[word + WORD_TRANSFER_HIGH]!,
    );
  if (!isRefused) {
    if (ringFreeBytes(core.events) < EVENT_RESERVE_BYTES + bytes) return FRAME_WAITS;
    const event = isSignal ? EVENT_SIGNAL : EVENT_NOTIFICATION;
    const at = reserveRecord(core.events, event, NOTIFICATION_EVENT_BYTES + bytes);
    if (at < 0) return FRAME_WAITS;
    core.int32[at >> 2] = channel.sessionIndex;
    core.int32[(at >> 2) + 1] = bytes;
    if (!isSignal) core.int32[(at >> 2) + 2] = Atomics.add(core.int32, ENGINE_NOTIFICATIONS, 1);
    const source = intake.staging.addr + intake.stagingStart + DATA_HEAD_BYTES;
    if (bytes > 0) copyMemory(core.sharedAddr + at + NOTIFICATION_EVENT_BYTES, source, bytes);
    publishRecords(core.events);
    core.hasNews = true;
  }
  arrivals.onArrived();
  arrivals.onLanded(core.ackDelayTurns);
  return FRAME_TAKEN;
}

// The owner refused one operation: its transfer fails, the session goes on.
function onRefuse(core: LaneCore, channel: Channel, word: number): number {
  const { reads, writes } = channel;
  const words = channel.intake.staging.uint32;
  const reason = words[word + WORD_TRANSFER_LOW]!;
  const kind = words[word + WORD_TRANSFER_HIGH]!;
  const sequence = words[word + WORD_SEQUENCE]! | 0;
  // A checksum that was not sent, or not asked for, cannot be wrong.
  if (reason === FAIL_CHECKSUM && (!channel.isChecked || kind === FRAME_READ_REQUEST)) {
    return TURN_RULE - RULE_UNASKED;
  }
  if (kind === FRAME_READ_REQUEST) {
    if (!isAnswerOwed(reads) || sequence !== reads.arrived) return TURN_RULE - RULE_UNASKED;
    onReadRefused(core, channel, reason);
    return FRAME_TAKEN;
  }
  if (!isWriteInFlight(writes, sequence)) return TURN_RULE - RULE_UNASKED;
  if (reason === FAIL_CHECKSUM && !hasSent(channel, sequence)) return TURN_RULE - RULE_UNASKED;
  refuseFlight(core, channel, sequence & FLIGHT_MASK, reason);
  return FRAME_TAKEN;
}
