// The way between a process of a mesh and its conductor. In one process a pair of ends; between
// processes a session of an engine, whose notifications carry the messages in pieces.

import { parseEndpoint } from '../../base/endpoint.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import type { Session } from '../../engine/internal.js';
import { decodeMeshMessage, encodeMeshMessage, type MeshMessage } from './mesh-message.js';

export interface MeshLink {
  /** Address of the other end; empty where it is in this process. */
  readonly host: string;
  /** Resolves with the reason when nothing comes any more. */
  readonly ended: Promise<TcpxError>;
  /** Resolves when the other end has it, or is gone. */
  send(message: MeshMessage): Promise<void>;
  /** Those that came before are handed over at once. */
  listen(onMessage: (message: MeshMessage) => void): void;
  close(): void;
}

/** Keeps what comes before somebody listens. */
export class Inbox {
  readonly #waiting: MeshMessage[] = [];
  #onMessage: ((message: MeshMessage) => void) | undefined;

  push(message: MeshMessage): void {
    if (this.#onMessage === undefined) this.#waiting.push(message);
    else this.#onMessage(message);
  }

  listen(onMessage: (message: MeshMessage) => void): void {
    this.#onMessage = onMessage;
    for (const message of this.#waiting.splice(0)) onMessage(message);
  }
}

/** Two ends within one process. Messages pass through their text, as between processes. */
export function localLinks(): [MeshLink, MeshLink] {
  const inboxes = [new Inbox(), new Inbox()] as const;
  let end: (reason: TcpxError) => void = () => undefined;
  const ended = new Promise<TcpxError>((resolve) => {
    end = resolve;
  });
  const linkOf = (own: 0 | 1): MeshLink => ({
    host: '',
    ended,
    send: (message) => {
      const text = encodeMeshMessage(message);
      setImmediate(() => inboxes[own === 0 ? 1 : 0].push(decodeMeshMessage(text)));
      return Promise.resolve();
    },
    listen: (onMessage) => inboxes[own].listen(onMessage),
    // After what was sent before.
    close: () => setImmediate(() => end(new TcpxError('ERR_PEER_GOODBYE', 'closed'))),
  });
  return [linkOf(0), linkOf(1)];
}

/** Below what one notification carries. */
const PIECE_CHARACTERS = 16 * 1024;
const MESSAGE_CHARACTERS_MAX = 16 * 1024 * 1024;
const MORE = '+';
const LAST = '.';

/** Pieces of a text, the last one marked. */
export function cutPieces(text: string): string[] {
  const pieces: string[] = [];
  for (let from = 0; from < text.length || pieces.length === 0; from += PIECE_CHARACTERS) {
    const isLast = from + PIECE_CHARACTERS >= text.length;
    pieces.push((isLast ? LAST : MORE) + text.slice(from, from + PIECE_CHARACTERS));
  }
  return pieces;
}

/** Puts pieces together; bounded. */
export class PieceJoiner {
  #text = '';

  /** The whole text with its last piece, undefined before. */
  take(piece: string): string | undefined {
    if (piece[0] !== MORE && piece[0] !== LAST) {
      throw new TcpxError('ERR_WIRE_FRAME', 'mesh message: a piece without its mark');
    }
    this.#text += piece.slice(1);
    if (this.#text.length > MESSAGE_CHARACTERS_MAX) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `mesh message: more than ${MESSAGE_CHARACTERS_MAX} characters`,
      );
    }
    if (piece[0] === MORE) return undefined;
    const text = this.#text;
    this.#text = '';
    return text;
  }
}

export class SessionLink implements MeshLink {
  readonly host: string;
  readonly ended: Promise<TcpxError>;
  readonly #session: Session;
  readonly #inbox = new Inbox();
  readonly #joiner = new PieceJoiner();
  #broken: ((reason: TcpxError) => void) | undefined;
  /** Pieces of two messages must not mix. */
  #sending: Promise<void> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.host = parseEndpoint(session.peerAddress).host;
    const lost = session.closed.then(
      () => session.error ?? new TcpxError('ERR_PEER_LOST', `${session.peer}: session ended`),
    );
    const broken = new Promise<TcpxError>((resolve) => {
      this.#broken = resolve;
    });
    this.ended = Promise.race([lost, broken]);
  }

  /** A notification of this session has come. */
  receive(bytes: Uint8Array): void {
    try {
      const text = this.#joiner.take(Buffer.from(bytes).toString());
      if (text !== undefined) this.#inbox.push(decodeMeshMessage(text));
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      this.#broken?.(error);
    }
  }

  send(message: MeshMessage): Promise<void> {
    this.#sending = this.#sending.then(() => this.#sendPieces(message));
    return this.#sending;
  }

  async #sendPieces(message: MeshMessage): Promise<void> {
    try {
      for (const piece of cutPieces(encodeMeshMessage(message))) await this.#session.notify(piece);
    } catch (error) {
      // Its loss is told by `ended`.
      if (!isTcpxError(error)) throw error;
    }
  }

  listen(onMessage: (message: MeshMessage) => void): void {
    this.#inbox.listen(onMessage);
  }

  close(): void {
    void this.#session.close();
  }
}
