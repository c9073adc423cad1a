// Sending: frames are gathered into one vector (heads in the channel's memory, payload in place)
// and handed to the port in as few calls as possible.

import { CHANNELS_MAX } from '../../../base/shared-layout.js';
import { fairFlight } from '../../../flow/link-share.hot.js';
import { CHUNK_BYTES, CHUNK_LEFT } from '../../../flow/request-layout.js';
import { FRAME_WRITE, WORD_ACK } from '../../../wire/data-frame.js';
import { WOULD_BLOCK } from '../port/stream-port.js';
import type { Channel } from './channel.js';
import { frameChunk, frameNotify, hasWriteWindow } from './frame-chunk.hot.js';
import { fitsVector, freeSentSlots, keepCopied } from './held-slots.hot.js';
import { type LaneCore, linksAt, type SessionLane } from './lane-core.js';
import { TRANSFER_BY_TURNS, TRANSFER_EVEN, TRANSFER_GENERATION, transferWord } from './layout.js';
import {
  isLastCopied,
  isSourceReady,
  stageChunk,
  startChunks,
  takeCopied,
} from './out-copies.hot.js';
import { isConfirmDue } from './own-reads.hot.js';
import { dropFramed } from './refusals.hot.js';
import {
  frameAck,
  frameRefusal,
  hasRoom,
  onSent,
  SENT_ALONE_BYTES,
  sealHeads,
} from './send-vector.hot.js';
import { isServeReady, startServes } from './served-copies.hot.js';
import { frameReadData, freeServed } from './served-reads.hot.js';
import { claimChunk, nextChunkWord, takeNotify } from './transfer-progress.hot.js';

/** Calls per turn, so that one busy channel does not starve the others of its lane. */
const SENDS_PER_TURN = 8;

/** Sends what can be sent now. 1 when bytes moved, 0 when not, −errno when the channel broke. */
export function sendTurn(core: LaneCore, channel: Channel): number {
  const { ready, vector, held } = channel;
  let progress = 0;
  for (let tries = 0; tries < SENDS_PER_TURN && ready.isWritable; tries++) {
    if (vector.count === 0 && !fillVector(core, channel)) return progress;
    // Slots that are free once their vector was sent must be copied too.
    const isHeld = !vector.isCopied && held.vectorCount === 0;
    const sent = channel.port.send(vector.first, vector.count, isHeld);
    if (sent < 0) {
      if (sent !== WOULD_BLOCK) return sent;
      ready.onFull();
      return progress;
    }
    progress = 1;
    if (!onSent(channel, sent)) {
      // A short send means a full socket buffer: wait for room instead of asking again.
      ready.onFull();
      return progress;
    }
    freeSentSlots(channel);
    freeServed(core, channel);
  }
  return progress;
}

// Gathers what is due; false when nothing is.
function fillVector(core: LaneCore, channel: Channel): boolean {
  const { served, vector, reads } = channel;
  const asked = reads.next;
  // A refused write counts as landed: its refusal goes first, acknowledging only what came before.
  if (channel.refusals.count > 0) frameRefusals(channel);
  startServes(core, channel);
  while (served.framed !== served.tail && hasRoom(vector)) {
    if (!isServeReady(core, channel)) break;
    frameReadData(core, channel);
  }
  if (!channel.isPeers) fillOwn(core, channel);
  // Every head carries the acknowledgement; a frame of its own is needed only without one.
  if (isAckDue(core, channel, reads.next !== asked)) frameAck(channel);
  if (channel.isChecked) sealHeads(vector);
  return vector.count > 0;
}

// Those whose turn has not come wait for GPU copies of the frames before them.
function frameRefusals(channel: Channel): void {
  const { refusals, arrivals } = channel;
  let count = 0;
  while (count < refusals.count) {
    const sequence = refusals.sequence[count]!;
    if (((arrivals.landed - sequence) | 0) < 0) break;
    const word = frameRefusal(channel, FRAME_WRITE, sequence, refusals.reason[count]!);
    channel.vector.heads.uint32[word + WORD_ACK] = sequence;
    arrivals.onAckedTo(sequence);
    count++;
  }
  dropFramed(refusals, count);
}

function isAckDue(core: LaneCore, channel: Channel, isAsking: boolean): boolean {
  const { credit, ready } = channel;
  if (credit.granted !== credit.grantTold) return true;
  if (isConfirmDue(channel.reads, isAsking)) return true;
  // More is coming in: acknowledge it together.
  const isMoreComing = ready.isReadable && core.ackDelayTurns === 0;
  return channel.arrivals.isAckDue(isMoreComing);
}

function fillOwn(core: LaneCore, channel: Channel): void {
  const { credit, vector } = channel;
  const session = core.sessions[channel.sessionIndex]!;
  while (hasRoom(vector) && session.notifyHead >= 0 && hasWriteWindow(channel)) {
    frameNotify(core, channel, takeNotify(core, session));
  }
  startChunks(core, channel);
  frameCopied(core, channel);
  while (hasRoom(vector) && (session.activeHead >= 0 || session.retries.length > 0)) {
    if (!hasWriteWindow(channel) || !hasReadWindow(channel)) return;
    if (credit.flightBytes >= credit.flightLimitBytes) return;
    if (!mayPull(core, channel, session)) return;
    if (!isSourceReady(core, channel, session)) return;
    const chunk = claimChunk(core, session);
    if (chunk < 0) return;
    if (!stageChunk(core, channel, core.claimedSlot, chunk)) {
      frameChunk(core, channel, core.claimedSlot, chunk, 0);
    } else if (isLastCopied(channel)) {
      // The peer takes these while the next is copied: a window of copies first would keep it idle.
      frameCopied(core, channel);
      if (vector.bytes >= SENT_ALONE_BYTES) return;
    }
  }
}

function mayPull(core: LaneCore, channel: Channel, session: SessionLane): boolean {
  return hasTurn(core, channel, session) && hasShare(core, channel, session);
}

// Of a transfer that one channel of each lane pulls, it is another's with the next use of an entry.
function hasTurn(core: LaneCore, channel: Channel, session: SessionLane): boolean {
  const { pullers, activeHead } = session;
  if (pullers.length === 0 || activeHead < 0 || session.retries.length > 0) return true;
  const first = transferWord(core.transfersAt, activeHead, 0);
  if (core.int32[first + TRANSFER_BY_TURNS] !== 1) return true;
  // Claimed to the end: whoever claims next finds that out.
  if (nextChunkWord(core, activeHead) < 0) return true;
  const turn = activeHead + core.int32[first + TRANSFER_GENERATION]!;
  return pullers[turn % pullers.length] === channel;
}

// Of a transfer that all channels pull from over NICs of their own, each takes its share. One
// without anything in flight may take a chunk in any case: so a rate that was low is seen to rise.
function hasShare(core: LaneCore, channel: Channel, session: SessionLane): boolean {
  const { flightBytes, isStriped } = channel.credit;
  if (!isStriped || flightBytes === 0 || session.activeHead < 0) return true;
  const even = transferWord(core.transfersAt, session.activeHead, TRANSFER_EVEN);
  if (core.int32[even] !== 1 || session.retries.length > 0) return true;
  const chunkWord = nextChunkWord(core, session.activeHead);
  // Claimed to the end: whoever claims next finds that out.
  if (chunkWord < 0) return true;
  const first = linksAt(core, channel.sessionIndex);
  const left = core.float64[chunkWord / 2 + CHUNK_LEFT]!;
  const share = fairFlight(core.float64, first, CHANNELS_MAX, channel.channelIndex, left);
  return flightBytes + core.uint32[chunkWord + CHUNK_BYTES]! / 2 <= share;
}

// Chunks from GPU memory that lie in their slots by now.
function frameCopied(core: LaneCore, channel: Channel): void {
  const { copies } = channel;
  while (hasRoom(channel.vector) && fitsVector(core, channel)) {
    const addr = takeCopied(core, channel);
    if (addr === 0) return;
    const sequence = channel.writes.next;
    frameChunk(core, channel, copies.copiedTransfer, copies.copiedChunk, addr);
    keepCopied(core, channel, sequence);
  }
}

function hasReadWindow(channel: Channel): boolean {
  return ((channel.reads.next - channel.reads.done) | 0) < channel.credit.granted;
}
