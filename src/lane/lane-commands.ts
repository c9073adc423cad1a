// Commands from the main thread, and the end of channels: everything of a lane that allocates.

import type { TcpxError } from '../base/errors.js';
import { closeAccess } from '../memory/region-access.hot.js';
import type { StreamPort } from '../transport/stream-port.js';
import { Channel, FLIGHT_MASK } from './channel.js';

import { sendTurn } from './channel-send.hot.js';
import { dropIn, finishLanding } from './landing.hot.js';
import type { LaneCore } from './lane-core.js';
import {
  FAIL_CANCELLED,
  FAIL_CHANNEL,
  TRANSFER_GENERATION,
  transferWord,
  TRANSFER_STATE,
  TransferState,
} from './layout.js';
import {
  COMMAND_ADD_CHANNEL,
  COMMAND_CANCEL,
  COMMAND_CLOSE_SESSION,
  COMMAND_OPEN_DEVICE,
  COMMAND_SUBMIT,
  EVENT_CHANNEL_LOST,
  EVENT_DEVICE_FAILED,
  EVENT_SESSION_CLOSED,
  LOSS_END_OF_STREAM,
  LOSS_PROTOCOL,
  LOSS_SYSTEM,
} from './messages.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from './record-ring.hot.js';
import { dropOut } from './staging-send.hot.js';
import {
  confirmChunks,
  failSession,
  failTransfer,
  submitTransfer,
} from './transfer-progress.hot.js';
import { TURN_ENDED, TURN_RULE, TURN_SYSTEM } from './turn.js';

/** Bytes of an error's text that the owner's log is given. */
const FAILURE_TEXT_MAX = 512;

/** Where a lane gets its ports from, and who is told about channels that come and go. */
export interface LaneHooks {
  openPort(fd: number, channelIndex: number): StreamPort;
  onChannelAdded(channel: Channel): void;
  onChannelRemoved(channel: Channel): void;
}

/** Handles every waiting command; returns how many. */
export function takeCommands(core: LaneCore, hooks: LaneHooks): number {
  let count = 0;
  tellFailure(core, core.staging.takeFailure());
  for (let at = peekRecord(core.commands); at >= 0; at = peekRecord(core.commands)) {
    const word = at >> 2;
    const first = core.int32[word] ?? 0;
    switch (recordKind(core.commands, at)) {
      case COMMAND_SUBMIT:
        submitTransfer(core, first);
        break;
      case COMMAND_ADD_CHANNEL:
        addChannel(core, hooks, core.int32.subarray(word, word + 6));
        break;
      case COMMAND_CLOSE_SESSION:
        closeSession(core, hooks, first);
        break;
      case COMMAND_OPEN_DEVICE:
        tellFailure(core, core.staging.open(first, core.channels));
        break;
      case COMMAND_CANCEL:
        cancelTransfer(core, first, core.int32[word + 1] ?? 0);
        break;
      default:
        break;
    }
    releaseRecord(core.commands, at);
    count++;
  }
  return count;
}

function addChannel(core: LaneCore, hooks: LaneHooks, words: Int32Array): void {
  const [fd = -1, sessionIndex = 0, channelIndex = 0, windowChunks = 1, chunkBytesMax = 0] = words;
  const channel = new Channel({
    port: hooks.openPort(fd, channelIndex),
    sessionIndex,
    channelIndex,
    windowChunks,
    chunkBytesMax,
    isStriped: (words[5] ?? 1) > 1,
  });
  core.channels.push(channel);
  tellFailure(core, core.staging.attach(channel));
  const session = core.sessions[sessionIndex];
  if (session !== undefined) session.isOpen = true;
  hooks.onChannelAdded(channel);
}

// Whatever needs that GPU fails in this lane from now on; the owner's log says why.
function tellFailure(core: LaneCore, failure: TcpxError | undefined): void {
  if (failure === undefined) return;
  const text = new TextEncoder().encode(failure.message).subarray(0, FAILURE_TEXT_MAX);
  const at = reserveRecord(core.events, EVENT_DEVICE_FAILED, 4 + text.length);
  if (at < 0) return;
  core.int32[at >> 2] = text.length;
  core.uint8.set(text, at + 4);
  publishRecords(core.events);
  core.hasNews = true;
}

function cancelTransfer(core: LaneCore, slot: number, generation: number): void {
  const current = core.int32[transferWord(core.transfersAt, slot, TRANSFER_GENERATION)];
  const state = Atomics.load(core.int32, transferWord(core.transfersAt, slot, TRANSFER_STATE));
  if (current !== generation || state !== TransferState.Active) return;
  failTransfer(core, slot, FAIL_CANCELLED);
}

function closeSession(core: LaneCore, hooks: LaneHooks, sessionIndex: number): void {
  for (const channel of core.channels.filter((one) => one.sessionIndex === sessionIndex)) {
    // What has landed is acknowledged before the end, as far as the socket takes it.
    finishLanding(core, channel);
    channel.isReadable = false;
    channel.ackDelayTurns = 0;
    sendTurn(core, channel);
    removeChannel(core, hooks, channel);
  }
  const session = core.sessions[sessionIndex];
  if (session !== undefined) failSession(core, session);
  const at = reserveRecord(core.events, EVENT_SESSION_CLOSED, 4);
  core.int32[at >> 2] = sessionIndex;
  publishRecords(core.events);
  core.hasNews = true;
}

/** A turn ended below zero: tell main why, fail what was in flight, free the channel. */
export function loseChannel(
  core: LaneCore,
  hooks: LaneHooks,
  channel: Channel,
  outcome: number,
): void {
  const isSystem = outcome <= TURN_SYSTEM;
  const isRule = !isSystem && outcome <= TURN_RULE;
  const loss = isSystem ? LOSS_SYSTEM : isRule ? LOSS_PROTOCOL : LOSS_END_OF_STREAM;
  const detail = isSystem ? TURN_SYSTEM - outcome : isRule ? TURN_RULE - outcome : 0;
  const at = reserveRecord(core.events, EVENT_CHANNEL_LOST, 20) >> 2;
  core.int32[at] = channel.sessionIndex;
  core.int32[at + 1] = channel.channelIndex;
  core.int32[at + 2] = outcome === TURN_ENDED ? LOSS_END_OF_STREAM : loss;
  core.int32[at + 3] = detail;
  core.int32[at + 4] =
    channel.stagingEnd >= 4 ? (channel.staging.uint8[channel.stagingStart] ?? 0) : 0;
  publishRecords(core.events);
  core.hasNews = true;
  removeChannel(core, hooks, channel);
}

function removeChannel(core: LaneCore, hooks: LaneHooks, channel: Channel): void {
  core.channels.splice(core.channels.indexOf(channel), 1);
  channel.isOpen = false;
  hooks.onChannelRemoved(channel);
  // Device copies first: they read and write memory that is given back below.
  dropOut(channel);
  dropIn(core, channel);
  const { stage } = channel;
  for (; stage.outHead !== stage.outTail; stage.outHead = (stage.outHead + 1) | 0) {
    giveUp(core, stage.outTransfer[stage.outHead & FLIGHT_MASK] ?? 0);
  }
  // Before the rest: what is given up below goes back to its owner, and a socket that is sending
  // from that memory must have let go of it.
  channel.destroy();
  if (channel.frameRegion >= 0) closeAccess(core.regions, channel.frameRegion);
  for (; channel.serveDone !== channel.serveTail; channel.serveDone = (channel.serveDone + 1) | 0) {
    const region = channel.serveRegion[channel.serveDone & FLIGHT_MASK] ?? -1;
    if (region >= 0) closeAccess(core.regions, region);
  }
  for (
    ;
    channel.writeAcked !== channel.writeNext;
    channel.writeAcked = (channel.writeAcked + 1) | 0
  ) {
    giveUp(core, channel.writeTransfer[channel.writeAcked & FLIGHT_MASK] ?? 0);
  }
  for (; channel.readDone !== channel.readNext; channel.readDone = (channel.readDone + 1) | 0) {
    giveUp(core, channel.readTransfer[channel.readDone & FLIGHT_MASK] ?? 0);
  }
}

function giveUp(core: LaneCore, slot: number): void {
  failTransfer(core, slot, FAIL_CHANNEL);
  confirmChunks(core, slot, 1);
}
