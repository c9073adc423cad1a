// Control frames over a control socket: whole messages in order, awaited with a deadline.

import { isTcpxError, TcpxError } from '../base/errors.js';
import type { ControlSet } from '../transport/tcp/control-set.js';
import { ControlSocket } from '../transport/tcp/control-socket.js';
import {
  CONTROL_HEAD_BYTES,
  CONTROL_BODY_BYTES_MAX,
  ControlKind,
  type ControlMessage,
  controlKindName,
  decodeControlBody,
  decodeControlHead,
  encodeControl,
} from '../wire/control-frame.js';

type MessageOf<K extends ControlKind> = Extract<ControlMessage, { kind: K }>;

interface Waiter {
  readonly resolve: (message: ControlMessage) => void;
  readonly reject: (error: TcpxError) => void;
}

export class ControlChannel {
  readonly socket: ControlSocket;
  /** Where the peer is, for messages to people. */
  readonly where: string;
  readonly #buffer = new Uint8Array(CONTROL_HEAD_BYTES + CONTROL_BODY_BYTES_MAX);
  #bufferedBytes = 0;
  readonly #inbox: ControlMessage[] = [];
  #waiter: Waiter | undefined;
  #failure: TcpxError | undefined;
  #onMessage: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;

  constructor(set: ControlSet, fd: number) {
    this.socket = new ControlSocket(set, fd, {
      wantedBytes: () => this.#wantedBytes(),
      onBytes: (bytes) => this.#onBytes(bytes),
      onClosed: (reason) => this.#fail(new TcpxError('ERR_PEER_LOST', `${this.where}: ${reason}`)),
    });
    const host = this.socket.peerHost;
    this.where = `${host.includes(':') ? `[${host}]` : host}:${this.socket.peerPort}`;
  }

  /** Own address of the connection. */
  get localHost(): string {
    return this.socket.localHost;
  }

  send(message: ControlMessage): void {
    if (!this.socket.send(encodeControl(message))) {
      const what = controlKindName(message.kind);
      throw new TcpxError('ERR_PEER_LOST', `send ${what} to ${this.where}: connection is gone`);
    }
  }

  /** The next message, which must be of one of these kinds; a REFUSE becomes an error. */
  async next<K extends ControlKind>(kinds: readonly K[], timeoutMs: number): Promise<MessageOf<K>> {
    const message = await this.#take(kinds, timeoutMs);
    if (isOneOf(message, kinds)) return message;
    if (message.kind === ControlKind.Refuse) {
      throw new TcpxError(
        'ERR_PEER_REFUSED',
        `${this.where} refused: ${message.code}: ${message.reason}`,
        {
          facts: { peer: this.where, code: message.code },
        },
      );
    }
    const expected = kinds.map(controlKindName).join(' or ');
    throw new TcpxError(
      'ERR_WIRE_STATE',
      `${this.where}: ${controlKindName(message.kind)} where ${expected} is due`,
    );
  }

  /** From now on messages go to a handler. */
  handOver(onMessage: (message: ControlMessage) => void, onFailure: (error: TcpxError) => void) {
    this.#onMessage = onMessage;
    this.#onFailure = onFailure;
    for (const message of this.#inbox.splice(0)) onMessage(message);
    if (this.#failure !== undefined) onFailure(this.#failure);
  }

  close(): void {
    this.socket.close();
  }

  #take(kinds: readonly ControlKind[], timeoutMs: number): Promise<ControlMessage> {
    const ready = this.#inbox.shift();
    if (ready !== undefined) return Promise.resolve(ready);
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiter = undefined;
        const expected = kinds.map(controlKindName).join(' or ');
        reject(
          new TcpxError('ERR_PEER_TIMEOUT', `${this.where}: no ${expected} within ${timeoutMs} ms`),
        );
      }, timeoutMs);
      this.#waiter = {
        resolve: (message) => {
          clearTimeout(timer);
          resolve(message);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
    });
  }

  // The bytes are gone after the call, and a handler may close the socket: copy first.
  #onBytes(bytes: Uint8Array): void {
    if (this.#failure !== undefined) return;
    let input: Uint8Array = bytes.slice();
    try {
      while (input.length > 0) input = this.#accept(input);
    } catch (error) {
      // Whoever speaks this protocol is told why before the owner closes; a stranger is not.
      if (!isTcpxError(error) || error.code === 'ERR_WIRE_MAGIC') this.socket.close();
      const rule = error instanceof Error ? error.message : String(error);
      const code = error instanceof TcpxError ? error.code : 'ERR_WIRE_FRAME';
      this.#fail(new TcpxError(code, `${this.where}: ${rule}`, { cause: error }));
    }
  }

  // Never beyond the end of a frame: data frames may follow ATTACHED at once.
  #wantedBytes(): number {
    const head = decodeControlHead(this.#buffer.subarray(0, this.#bufferedBytes));
    return CONTROL_HEAD_BYTES + (head?.bodyBytes ?? 0) - this.#bufferedBytes;
  }

  // Takes bytes up to the end of one frame; returns the rest.
  #accept(input: Uint8Array): Uint8Array {
    const room = this.#buffer.length - this.#bufferedBytes;
    const taken = Math.min(room, input.length);
    this.#buffer.set(input.subarray(0, taken), this.#bufferedBytes);
    const buffered = this.#bufferedBytes + taken;
    const head = decodeControlHead(this.#buffer.subarray(0, buffered));
    if (head === undefined || buffered < CONTROL_HEAD_BYTES + head.bodyBytes) {
      this.#bufferedBytes = buffered;
      return input.subarray(taken);
    }
    const frameBytes = CONTROL_HEAD_BYTES + head.bodyBytes;
    const body = this.#buffer.slice(CONTROL_HEAD_BYTES, frameBytes);
    const used = frameBytes - this.#bufferedBytes;
    this.#bufferedBytes = 0;
    this.#deliver(decodeControlBody(head.kind, body));
    return input.subarray(used);
  }

  #deliver(message: ControlMessage): void {
    // The last control frame of a data connection: what follows belongs to the lane.
    if (message.kind === ControlKind.Attached) this.socket.pause();
    if (this.#onMessage !== undefined) {
      this.#onMessage(message);
      return;
    }
    const waiter = this.#waiter;
    this.#waiter = undefined;
    if (waiter !== undefined) waiter.resolve(message);
    else if (this.#inbox.length < 16) this.#inbox.push(message);
    else throw new TcpxError('ERR_WIRE_LIMIT', 'more than 16 control frames unasked');
  }

  #fail(error: TcpxError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#waiter?.reject(error);
    this.#waiter = undefined;
    this.#onFailure?.(error);
  }
}

function isOneOf<K extends ControlKind>(
  message: ControlMessage,
  kinds: readonly K[],
): message is MessageOf<K> {
  return (kinds as readonly ControlKind[]).includes(message.kind);
}
