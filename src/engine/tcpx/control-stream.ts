// A connection for the messages of transfers alone, between the main threads of both ends. The
// engine's session carries them too, but each of its messages wakes a lane at either end first,
// while plugin processes keep the cores busy. Proved with the session's key before it is obeyed.
//
//   [proof, 32 bytes]   then   [length u32][JSON] [length u32][JSON] …

import type { Socket } from 'node:net';
import { TcpxError } from '../../base/errors.js';
import { isSameProof } from '../trust.js';
import { type ControlMessage, MESSAGE_BYTES_MAX, parseMessage } from './control-message.js';

const HEAD_BYTES = 4;
const PROOF_BYTES = 32;
/** A peer that takes nothing must not fill our memory. */
const WAITING_BYTES_MAX = 16 * MESSAGE_BYTES_MAX;
/** More pieces of an unfinished message are put together: each has a price beside its bytes. */
const PARTS_MAX = 1024;
/** Firewalls forget connections that are silent for minutes. */
const KEEP_ALIVE_MS = 10_000;

export interface StreamHandler {
  /** The peer has proved itself; nothing was obeyed before. */
  onProved(): void;
  onMessage(message: ControlMessage): void;
  /** Once: the end, a failure, or a rule that the peer broke. */
  onEnd(error: TcpxError): void;
}

export class ControlStream {
  readonly #socket: Socket;
  readonly #expectedProof: Uint8Array;
  readonly #handler: StreamHandler;
  /** What has come and is not whole yet; put together when `#wantedBytes` are there. */
  readonly #parts: Buffer[] = [];
  #partsBytes = 0;
  #wantedBytes = PROOF_BYTES;
  #isProved = false;
  #isOver = false;

  constructor(socket: Socket, expectedProof: Uint8Array, handler: StreamHandler) {
    this.#socket = socket;
    this.#expectedProof = expectedProof;
    this.#handler = handler;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on('data', (bytes) => this.#onBytes(bytes));
    socket.on('error', (error) => this.#end(new TcpxError('ERR_PEER_LOST', error.message)));
    socket.on('close', () => this.#end(new TcpxError('ERR_PEER_LOST', 'the peer closed it')));
  }

  prove(proof: Uint8Array): void {
    this.#socket.write(proof);
  }

  send(message: ControlMessage): void {
    if (this.#isOver) return;
    if (this.#socket.writableLength > WAITING_BYTES_MAX) {
      throw new TcpxError('ERR_WIRE_LIMIT', `${WAITING_BYTES_MAX} bytes of control messages wait`);
    }
    this.#socket.write(encodeFrame(message));
  }

  /** The handler hears nothing more. */
  close(): void {
    this.#isOver = true;
    this.#socket.destroy();
  }

  #onBytes(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#parts.push(bytes);
    this.#partsBytes += bytes.length;
    if (this.#partsBytes < this.#wantedBytes) {
      if (this.#parts.length >= PARTS_MAX) this.#join();
      return;
    }
    const whole = this.#parts.length === 1 ? bytes : Buffer.concat(this.#parts);
    this.#parts.length = 0;
    try {
      const rest = this.#takeFrames(this.#isProved ? whole : this.#takeProof(whole));
      this.#partsBytes = rest.length;
      if (rest.length > 0) this.#parts.push(rest);
    } catch (error) {
      if (!(error instanceof TcpxError)) throw error;
      this.#end(error);
    }
  }

  #join(): void {
    this.#parts.splice(0, this.#parts.length, Buffer.concat(this.#parts));
  }

  #takeProof(bytes: Buffer): Buffer {
    if (!isSameProof(bytes.subarray(0, PROOF_BYTES), this.#expectedProof)) {
      throw new TcpxError('ERR_WIRE_AUTH', 'control stream: another proof');
    }
    this.#isProved = true;
    this.#handler.onProved();
    return bytes.subarray(PROOF_BYTES);
  }

  /** What is left over, and less than a message. */
  #takeFrames(bytes: Buffer): Buffer {
    let at = 0;
    this.#wantedBytes = HEAD_BYTES;
    while (!this.#isOver && bytes.length - at >= HEAD_BYTES) {
      const bodyBytes = bytes.readUInt32LE(at);
      if (bodyBytes > MESSAGE_BYTES_MAX) {
        throw new TcpxError('ERR_WIRE_FRAME', `control stream: a message of ${bodyBytes} bytes`);
      }
      const end = at + HEAD_BYTES + bodyBytes;
      this.#wantedBytes = end > bytes.length ? end - at : HEAD_BYTES;
      if (end > bytes.length) break;
      this.#handler.onMessage(parseMessage(bytes.toString('utf8', at + HEAD_BYTES, end)));
      at = end;
    }
    return bytes.subarray(at);
  }

  #end(error: TcpxError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#socket.destroy();
    this.#handler.onEnd(error);
  }
}

function encodeFrame(message: ControlMessage): Buffer {
  const text = JSON.stringify(message);
  const bytes = Buffer.byteLength(text);
  if (bytes > MESSAGE_BYTES_MAX) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${message.kind} of ${bytes} bytes, at most ${MESSAGE_BYTES_MAX}: use fewer blocks`,
    );
  }
  const frame = Buffer.allocUnsafe(HEAD_BYTES + bytes);
  frame.writeUInt32LE(bytes, 0);
  frame.write(text, HEAD_BYTES, 'utf8');
  return frame;
}
