// Commands from the main thread: channels and sessions come and go, transfers are handed over.

import { assert, at } from '../../../base/assert.js';
import type { TcpxError } from '../../../base/errors.js';
import { FAIL_CANCELLED } from '../../../base/failure.js';
import type { Generation, TransferSlot } from '../../../base/quantity.js';
import {
  peekRecord,
  publishRecords,
  recordKind,
  releaseRecord,
  reserveRecord,
} from '../../../os/record-ring.hot.js';
import { CHANNEL_OWN, CHANNEL_PEERS } from '../channel-plan.js';
import type { StreamPort } from '../port/stream-port.js';
import { LINK_WORDS, ShmLink } from '../shm/shm-link.js';
import { Channel } from './channel.js';
import { closeChannel, endChannel } from './channel-end.js';
import { receiveTurn } from './channel-receive.hot.js';
import { sendTurn } from './channel-send.hot.js';
import { giveUpParked, settleChannel } from './channel-settle.js';
import { grantCredit } from './credit.js';
import { FLIGHT_SLOTS } from './flight.js';
import { finishLanding } from './landing.hot.js';
import { type LaneCore, linkOf, sessionLane } from './lane-core.js';
import {
  TRANSFER_GENERATION,
  TRANSFER_SESSION,
  TRANSFER_STATE,
  TransferState,
  transferWord,
} from './layout.js';
import {
  ADD_CHANNEL_WORDS,
  COMMAND_ADD_CHANNEL,
  COMMAND_CANCEL,
  COMMAND_CLOSE_SESSION,
  COMMAND_DROP_CHANNEL,
  COMMAND_GIVE_UP,
  COMMAND_LOOK,
  COMMAND_OPEN_DEVICE,
  COMMAND_RETRY,
  COMMAND_SETTLE_CHANNEL,
  COMMAND_SUBMIT,
  EVENT_DEVICE_COPIES,
  EVENT_DEVICE_FAILED,
  EVENT_SESSION_CLOSED,
} from './messages.js';
import { joinTurns } from './pull-turns.js';
import {
  failSession,
  failTransfer,
  giveUp,
  pushNotify,
  releaseHolder,
  returnChunk,
  submitTransfer,
} from './transfer-progress.hot.js';
import { TURN_DROPPED, TURN_RULE, TURN_SYSTEM } from './turn.js';
import { shareUnsent } from './unsent-share.js';

/** Bytes of an error's text that the owner's log is given. */
const FAILURE_TEXT_MAX = 512;

/** What a port of a new channel is made of; with a link it is shared memory, else TCP. */
export interface PortOrder {
  readonly fd: number;
  readonly channelIndex: number;
  /** The agreed window: credit lets the peer have no more than this on its way. */
  readonly windowBytes: number;
  readonly link: ShmLink | undefined;
  /** Payload is summed where it has landed. */
  readonly isChecked: boolean;
}

/** Where a lane gets its ports from, and who is told about channels that come and go. */
export interface LaneHooks {
  openPort(order: PortOrder): StreamPort;
  onChannelAdded(channel: Channel): void;
  onChannelRemoved(channel: Channel): void;
}

/** Handles every waiting command; returns how many. */
export function takeCommands(core: LaneCore, hooks: LaneHooks): number {
  let count = 0;
  tell(core, EVENT_DEVICE_FAILED, core.staging.takeFailure());
  const { commands, int32 } = core;
  for (let record = peekRecord(commands); record >= 0; record = peekRecord(commands)) {
    const word = record >> 2;
    const first = at(int32, word);
    const kind = recordKind(commands, record);
    switch (kind) {
      case COMMAND_SUBMIT:
        submitTransfer(core, first);
        break;
      case COMMAND_ADD_CHANNEL:
        addChannel(core, hooks, int32.subarray(word, word + ADD_CHANNEL_WORDS + LINK_WORDS));
        break;
      case COMMAND_CLOSE_SESSION:
        closeSession(core, hooks, first);
        break;
      case COMMAND_LOOK:
        lookOnce(core, hooks, first);
        break;
      case COMMAND_OPEN_DEVICE:
        tell(core, EVENT_DEVICE_FAILED, core.staging.open(first, core.channels));
        tell(core, EVENT_DEVICE_COPIES, core.staging.takeRefusal());
        break;
      case COMMAND_CANCEL:
        cancelTransfer(core, first, at(int32, word + 1));
        break;
      case COMMAND_DROP_CHANNEL:
        dropChannel(core, hooks, int32.subarray(word, word + 3));
        break;
      case COMMAND_SETTLE_CHANNEL:
        settleChannel(core, word);
        break;
      case COMMAND_RETRY:
        retryChunk(core, int32.subarray(word, word + 3));
        break;
      case COMMAND_GIVE_UP:
        if (isCurrent(core, first, at(int32, word + 1))) giveUp(core, first);
        break;
      default:
        assert(false, `a command of kind ${kind} is known`);
    }
    releaseRecord(commands, record);
    count++;
  }
  return count;
}

function addChannel(core: LaneCore, hooks: LaneHooks, words: Int32Array): void {
  const [fd, sessionIndex, channelIndex] = [at(words, 0), at(words, 1), at(words, 2)];
  const [epoch, windowChunks, chunkBytesMax] = [at(words, 3), at(words, 4), at(words, 5)];
  assert(windowChunks >= 1 && windowChunks < FLIGHT_SLOTS, 'a window fits into the flight');
  assert(chunkBytesMax >= 1, 'an agreed chunk has bytes');
  const windowBytes = windowChunks * chunkBytesMax;
  const link = ShmLink.fromWords(words.subarray(ADD_CHANNEL_WORDS));
  const isChecked = at(words, 7) === 1;
  const channel = new Channel({
    port: hooks.openPort({ fd, channelIndex, windowBytes, link, isChecked }),
    sessionIndex,
    channelIndex,
    epoch,
    windowChunks,
    chunkBytesMax,
    isStriped: at(words, 6) > 1,
    isChecked,
    isPeers: at(words, 8) === CHANNEL_PEERS,
    isOwn: at(words, 8) === CHANNEL_OWN,
    link: linkOf(core, sessionIndex, channelIndex),
    memory: core.memory,
  });
  core.channels.push(channel);
  tell(core, EVENT_DEVICE_FAILED, core.staging.attach(channel));
  tell(core, EVENT_DEVICE_COPIES, core.staging.takeRefusal());
  const session = sessionLane(core, sessionIndex);
  if (!session.isOpen) session.number = core.sessionsOpened++;
  session.isOpen = true;
  if (!channel.isPeers) session.openChannels++;
  joinTurns(session, channel);
  grantCredit(core);
  shareUnsent(core, channel);
  hooks.onChannelAdded(channel);
}

// Failed: whatever needs that GPU fails in this lane from now on. The owner's log says why.
function tell(core: LaneCore, event: number, reason: TcpxError | undefined): void {
  if (reason === undefined) return;
  const text = new TextEncoder().encode(reason.message).subarray(0, FAILURE_TEXT_MAX);
  const record = reserveRecord(core.events, event, 4 + text.length);
  if (record < 0) return;
  core.int32[record >> 2] = text.length;
  core.uint8.set(text, record + 4);
  publishRecords(core.events);
  core.hasNews = true;
}

function cancelTransfer(core: LaneCore, slot: TransferSlot, generation: Generation): void {
  if (isCurrent(core, slot, generation)) failTransfer(core, slot, FAIL_CANCELLED);
  // Whoever asked holds the entry for this command, so that it is not another's by now.
  releaseHolder(core, slot);
}

function isCurrent(core: LaneCore, slot: TransferSlot, generation: Generation): boolean {
  const current = core.int32[transferWord(core.transfersAt, slot, TRANSFER_GENERATION)];
  const state = Atomics.load(core.int32, transferWord(core.transfersAt, slot, TRANSFER_STATE));
  return current === generation && state === TransferState.Active;
}

function dropChannel(core: LaneCore, hooks: LaneHooks, words: Int32Array): void {
  const [sessionIndex, channelIndex, epoch] = words;
  const channel = core.channels.find(
    (one) =>
      one.sessionIndex === sessionIndex && one.channelIndex === channelIndex && one.epoch === epoch,
  );
  if (channel !== undefined) endChannel(core, hooks, channel, TURN_DROPPED);
}

// A chunk that another channel could not deliver; chunk −1 is the notification.
function retryChunk(core: LaneCore, words: Int32Array): void {
  const [slot, generation, chunk] = [at(words, 0), at(words, 1), at(words, 2)];
  assert(isCurrent(core, slot, generation), 'a transfer with a chunk to send is not over');
  const word = transferWord(core.transfersAt, slot, TRANSFER_SESSION);
  const session = sessionLane(core, at(core.int32, word));
  if (!session.isOpen) giveUp(core, slot);
  else if (session.openChannels === 0) returnChunk(core, slot, chunk);
  else if (chunk < 0) pushNotify(core, session, slot);
  else session.retries.push(slot, chunk);
}

// The peer has said goodbye on another connection: what it sent before may lie here, unread.
function lookOnce(core: LaneCore, hooks: LaneHooks, sessionIndex: number): void {
  for (const channel of core.channels.filter((one) => one.sessionIndex === sessionIndex)) {
    channel.ready.onReadable();
    const outcome = receiveTurn(core, channel);
    const isRule = outcome <= TURN_RULE && outcome > TURN_SYSTEM;
    if (isRule) endChannel(core, hooks, channel, outcome);
  }
}

function closeSession(core: LaneCore, hooks: LaneHooks, sessionIndex: number): void {
  for (const channel of core.channels.filter((one) => one.sessionIndex === sessionIndex)) {
    // What has landed is acknowledged before the end, as far as the socket takes it.
    finishLanding(core, channel);
    channel.ready.onEmpty();
    channel.arrivals.endDelay();
    sendTurn(core, channel);
    closeChannel(core, hooks, channel, false);
  }
  giveUpParked(core, sessionIndex);
  failSession(core, sessionLane(core, sessionIndex));
  const record = reserveRecord(core.events, EVENT_SESSION_CLOSED, 4);
  assert(record >= 0, 'the event ring has room for the end of a session');
  core.int32[record >> 2] = sessionIndex;
  publishRecords(core.events);
  core.hasNews = true;
}
