// Control messages to a peer. Set-up, ends and notifications go over the engine's session in order;
// what it has no room for now waits. Messages of transfers go over the stream of the epoch.

import { TcpxError } from '../../base/errors.js';
import type { Engine } from '../engine.js';
import type { Session } from '../session.js';
import {
  type ControlMessage,
  encodeMessage,
  isTransferMessage,
  MessageReader,
} from './control-message.js';
import type { ControlStream } from './control-stream.js';

/** Pieces that may wait: a peer that takes nothing must not fill our memory. */
const WAITING_MAX = 4096;

export class ControlLink {
  readonly session: Session;
  readonly #engine: Engine;
  readonly #reader = new MessageReader();
  readonly #waiting: Uint8Array[] = [];
  /** Of the current epoch: messages of transfers go over it. */
  stream: ControlStream | undefined;

  constructor(engine: Engine, session: Session) {
    this.#engine = engine;
    this.session = session;
  }

  get peer(): string {
    return this.session.peer;
  }

  get isOpen(): boolean {
    return this.session.isReady;
  }

  send(message: ControlMessage): void {
    if (this.stream !== undefined && isTransferMessage(message)) {
      this.stream.send(message);
      return;
    }
    if (this.#waiting.length > WAITING_MAX) {
      throw new TcpxError('ERR_WIRE_LIMIT', `${this.peer}: ${WAITING_MAX} control pieces wait`);
    }
    this.#waiting.push(...encodeMessage(message));
    this.pump();
  }

  /** The message that this notification completes. */
  receive(piece: Uint8Array): ControlMessage | undefined {
    return this.#reader.take(piece);
  }

  /** Sends what waits, as far as there is room. */
  pump(): void {
    while (this.#waiting.length > 0 && this.#engine.hasRoom && this.session.isReady) {
      const piece = this.#waiting.shift();
      // A failure of the connection ends the session, and its owner hears of it there.
      if (piece !== undefined) this.session.notify(piece).done.catch(() => undefined);
    }
  }
}
