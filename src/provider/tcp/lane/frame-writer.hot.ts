// Frames into a channel's vector: heads in its own memory, payload where it lies.

import {
  DATA_HEAD_BYTES,
  FLAG_CHECKSUM,
  FRAME_ACK,
  FRAME_REFUSE,
  WORD_ACK,
  WORD_KIND,
  WORD_OPERATION_BYTES,
  WORD_PAYLOAD_BYTES,
  WORD_SEQUENCE,
  WORD_TRANSFER_HIGH,
  WORD_TRANSFER_LOW,
} from '../../../wire/data-frame.js';
import type { Channel } from './channel.js';

/** Starts a frame: clears its head, puts it into the vector, returns its first word. */
export function beginFrame(
  channel: Channel,
  kind: number,
  payloadBytes: number,
  sequence: number,
): number {
  const words = channel.heads.uint32;
  const word = channel.headUsedBytes >> 2;
  words.fill(0, word, word + DATA_HEAD_BYTES / 4);
  words[word + WORD_KIND] = kind;
  words[word + WORD_PAYLOAD_BYTES] = payloadBytes;
  words[word + WORD_ACK] = channel.landed;
  channel.ackSent = channel.landed;
  words[word + WORD_SEQUENCE] = sequence;
  pushVector(channel, channel.heads.addr + channel.headUsedBytes, DATA_HEAD_BYTES);
  channel.headUsedBytes += DATA_HEAD_BYTES;
  return word;
}

export function pushVector(channel: Channel, addr: number, bytes: number): void {
  channel.port.setSend(channel.sendCount, addr, bytes);
  channel.sendCount++;
  channel.sendBytes += bytes;
}

export function frameRefusal(
  channel: Channel,
  kind: number,
  sequence: number,
  reason: number,
): number {
  const word = beginFrame(channel, FRAME_REFUSE, 0, sequence);
  channel.heads.uint32[word + WORD_TRANSFER_LOW] = reason;
  channel.heads.uint32[word + WORD_TRANSFER_HIGH] = kind;
  return word;
}

export function writeChecksum(channel: Channel, word: number, sum: number): void {
  channel.heads.uint32[word + WORD_KIND] = channel.heads.uint32[word + WORD_KIND]! | FLAG_CHECKSUM;
  channel.heads.uint32[word + WORD_OPERATION_BYTES] = sum;
}

export function frameAck(channel: Channel): void {
  const word = beginFrame(channel, FRAME_ACK, 0, channel.readDone);
  if (channel.readNext === channel.readDone) channel.isConfirmWanted = false;
  channel.heads.uint32[word + WORD_OPERATION_BYTES] = channel.granted;
  channel.grantTold = channel.granted;
}
