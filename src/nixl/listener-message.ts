// Messages of the metadata listener. A frame is a u64 length and a body; a body holds pieces that
// begin with "NIXLCOMM:", a verb of four letters and its argument:
//   LOAD + blob: take my metadata · SEND: give me yours · INVL + name: forget that agent

import { TcpxError } from '../base/errors.js';
import { measureMetadata } from './metadata.js';
import { AGENT_NAME_BYTES_MAX, agentNameProblem } from './names.js';
import { readU64, refuseMetadata, writeU64 } from './serdes.js';

const LISTENER_MARKER = 'NIXLCOMM:';
export const FRAME_HEAD_BYTES = 8;
/** Pieces in one frame; senders put one, so this is generous. */
const PIECES_MAX = 64;

const VERB_BYTES = 4;
const MARKER = Buffer.from(LISTENER_MARKER);

export type ListenerMessage =
  | { readonly verb: 'LOAD'; readonly blob: Uint8Array }
  | { readonly verb: 'SEND' }
  | { readonly verb: 'INVL'; readonly agent: string };

/** One message as a whole frame, ready for a socket. */
export function encodeListenerFrame(message: ListenerMessage): Uint8Array {
  const argument = argumentOf(message);
  // A receiver that splits on the marker alone would cut such a blob in two.
  if (argument.includes(MARKER)) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `send ${message.verb}: the argument contains ${LISTENER_MARKER}`,
    );
  }
  const bodyBytes = MARKER.length + VERB_BYTES + argument.length;
  const frame = Buffer.alloc(FRAME_HEAD_BYTES + bodyBytes);
  writeU64(new DataView(frame.buffer, frame.byteOffset), 0, bodyBytes);
  MARKER.copy(frame, FRAME_HEAD_BYTES);
  frame.write(message.verb, FRAME_HEAD_BYTES + MARKER.length);
  argument.copy(frame, FRAME_HEAD_BYTES + MARKER.length + VERB_BYTES);
  return frame;
}

/** Body length from a frame's first eight bytes. */
export function decodeFrameHead(head: Uint8Array, bodyBytesMax: number): number {
  const bytes = readU64(new DataView(head.buffer, head.byteOffset, FRAME_HEAD_BYTES), 0);
  if (bytes === undefined || bytes > bodyBytesMax) {
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `metadata frame of ${bytes ?? 'more than 2^53'} bytes; at most ${bodyBytesMax} are taken`,
      { facts: { bytes, limit: bodyBytesMax } },
    );
  }
  return bytes;
}

/**
 * The messages of one body. Pieces shorter than a verb are skipped, as NIXL does. A LOAD's blob
 * says itself where it ends, so marker bytes inside it do not cut it.
 */
export function decodeListenerBody(body: Uint8Array): ListenerMessage[] {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const messages: ListenerMessage[] = [];
  let markerAt = text.indexOf(MARKER);
  if (markerAt !== 0) refuseMetadata(`a listener message begins with ${LISTENER_MARKER}`);
  while (markerAt !== -1) {
    if (messages.length === PIECES_MAX) refuseMetadata(`more than ${PIECES_MAX} pieces in a frame`);
    const start = markerAt + MARKER.length;
    const end = pieceEnd(text, start);
    if (end - start >= VERB_BYTES) messages.push(decodePiece(text.subarray(start, end)));
    markerAt = end === text.length ? -1 : end;
  }
  return messages;
}

function argumentOf(message: ListenerMessage): Buffer {
  switch (message.verb) {
    case 'LOAD':
      return Buffer.from(message.blob.buffer, message.blob.byteOffset, message.blob.byteLength);
    case 'SEND':
      return Buffer.alloc(0);
    case 'INVL':
      return Buffer.from(message.agent);
  }
}

function pieceEnd(text: Buffer, start: number): number {
  const argumentAt = start + VERB_BYTES;
  let searchFrom = start;
  if (text.toString('latin1', start, argumentAt) === 'LOAD') {
    // Malformed blobs throw here: guessing where they end would only hide the fault.
    searchFrom = argumentAt + measureMetadata(text.subarray(argumentAt)).bytes;
  }
  const next = text.indexOf(MARKER, searchFrom);
  return next === -1 ? text.length : next;
}

function decodePiece(piece: Buffer): ListenerMessage {
  const verb = piece.toString('latin1', 0, VERB_BYTES);
  const argument = piece.subarray(VERB_BYTES);
  switch (verb) {
    case 'LOAD':
      return { verb, blob: argument };
    case 'SEND':
      return { verb };
    case 'INVL':
      return { verb, agent: decodeAgentName(argument) };
    default:
      return refuseMetadata(`listener verb ${JSON.stringify(verb)} is unknown`);
  }
}

function decodeAgentName(argument: Buffer): string {
  if (argument.length > AGENT_NAME_BYTES_MAX) refuseMetadata('INVL names an agent too long');
  const agent = argument.toString('utf8');
  const problem = agentNameProblem(agent);
  if (problem !== undefined) refuseMetadata(`INVL: the agent name ${problem}`);
  return agent;
}
