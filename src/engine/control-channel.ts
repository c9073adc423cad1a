// Control frames over a control socket: whole messages in order, awaited with a deadline.

import { TcpxError } from '../base/errors.js';
import type { ControlSet } from '../os/control-set.js';
import { ControlSocket } from '../os/control-socket.js';
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
  /** Length of the frame that is being received; its head alone until that is known. */
  #frameBytes = CONTROL_HEAD_BYTES;
  #waiter: Waiter | undefined;
  #failure: TcpxError | undefined;
  #onMessage: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;

  constructor(set: ControlSet, fd: number) {
    this.socket = new ControlSocket(set, fd, {
      bytesWanted: () => this.#frameBytes - this.#bufferedBytes,
      onBytes: (bytes) => this.#onBytes(bytes),
      onClosed: (reason) => this.#fail(new TcpxError('ERR_PEER_LOST', `${this.where}: ${reason}`)),
    });
    const host = this.socket.peerHost;
    this.where = `${host.includes(':') ? `[${host}]` : host}:${this.socket.peerPort}`;
  }

  get isOpen(): boolean {
    return this.socket.isOpen;
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

  /** From now on messages go to a handler, and silence of the peer's kernel is a failure. */
  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
    silentMs: number,
  ): void {
    this.#onMessage = onMessage;
    this.#onFailure = onFailure;
    this.socket.keepAlive(silentMs);
    this.socket.setReading(true);
    if (this.#failure !== undefined) onFailure(this.#failure);
  }

  /** Whoever waits for a message is told; the owner's handlers are not. */
  close(): void {
    this.socket.close();
    this.#dismiss();
  }

  /** As close, with a reset. */
  abort(): void {
    this.socket.abort();
    this.#dismiss();
  }

  #dismiss(): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.reject(new TcpxError('ERR_USAGE_STATE', `${this.where}: the connection was closed`));
  }

  #take(kinds: readonly ControlKind[], timeoutMs: number): Promise<ControlMessage> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.socket.setReading(true);
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

  // No more than the frame that is due arrives here; see bytesWanted.
  #onBytes(bytes: Uint8Array): void {
    this.#buffer.set(bytes, this.#bufferedBytes);
    this.#bufferedBytes += bytes.length;
    try {
      this.#onFrameBytes();
    } catch (error) {
      const rule = error instanceof Error ? error.message : String(error);
      const code = error instanceof TcpxError ? error.code : 'ERR_WIRE_FRAME';
      this.socket.setReading(false);
      this.#fail(new TcpxError(code, `${this.where}: ${rule}`, { cause: error }));
    }
  }

  #onFrameBytes(): void {
    const head = decodeControlHead(this.#buffer.subarray(0, this.#bufferedBytes));
    if (head === undefined) return;
    this.#frameBytes = CONTROL_HEAD_BYTES + head.bodyBytes;
    if (this.#bufferedBytes < this.#frameBytes) return;
    const body = this.#buffer.slice(CONTROL_HEAD_BYTES, this.#frameBytes);
    this.#bufferedBytes = 0;
    this.#frameBytes = CONTROL_HEAD_BYTES;
    this.#deliver(decodeControlBody(head.kind, body));
  }

  #deliver(message: ControlMessage): void {
    if (this.#onMessage !== undefined) {
      this.#onMessage(message);
      return;
    }
    // Until somebody asks again nothing is read: the socket may become a data channel.
    this.socket.setReading(false);
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.resolve(message);
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
