// The control stream of a session, one after the other: each epoch has its own.

import { TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { ControlLink } from './control-link.js';
import {
  type ControlMessage,
  isTransferMessage,
  type StreamOffer,
  type TransferMessage,
} from './control-message.js';
import { EpochStream } from './epoch-stream.js';

/** Longer than a connection takes, shorter than a set-up may: the session is there instead. */
const SETUP_MS_MAX = 2000;
/** When the peer closes, the session says why, a little later. */
const END_MS = 1000;

export interface SessionStreamParts {
  readonly link: ControlLink;
  readonly log: Log;
  /** False: everything goes over the session. */
  readonly isWanted: boolean;
  readonly setupTimeoutMs: number;
  onMessage(message: TransferMessage): void;
  /** The epoch cannot go on. */
  onLost(epoch: number, error: TcpxError): void;
}

export class SessionStream {
  readonly #parts: SessionStreamParts;
  #current: EpochStream | undefined;

  constructor(parts: SessionStreamParts) {
    this.#parts = parts;
  }

  /** Server: where the client finds it; undefined where it cannot listen. */
  async offer(epoch: number): Promise<StreamOffer | undefined> {
    const { link, log, isWanted } = this.#parts;
    if (!isWanted) return undefined;
    try {
      return await this.#open(epoch).offer(link.session.control.localHost);
    } catch (error) {
      log.warn('no control stream', { peer: link.peer, reason: String(error) });
      return undefined;
    }
  }

  /** Client: whether messages of transfers go over it from now on. */
  async dial(epoch: number, offer: StreamOffer | undefined): Promise<boolean> {
    const { link, log, isWanted } = this.#parts;
    if (!isWanted) return false;
    const host = hostOf(link.session.control.where);
    const stream = offer === undefined ? undefined : this.#open(epoch);
    if (offer !== undefined && (await stream?.dial(host, offer)) === true) return true;
    const reason = stream?.failure ?? 'the peer offers none';
    log.warn('no control stream: messages go over the session', { peer: link.peer, reason });
    return false;
  }

  /** Server: the client uses it. False where nobody has proved to be the client. */
  choose(): boolean {
    return this.#current?.choose() ?? false;
  }

  get isUsed(): boolean {
    return this.#parts.link.stream !== undefined;
  }

  close(): void {
    this.#current?.close();
    this.#current = undefined;
    this.#parts.link.stream = undefined;
  }

  #open(epoch: number): EpochStream {
    const { link, setupTimeoutMs } = this.#parts;
    this.close();
    this.#current = new EpochStream({
      key: link.session.facts.key,
      epoch,
      timeoutMs: Math.min(SETUP_MS_MAX, setupTimeoutMs / 2),
      onChosen: (stream) => (link.stream = stream),
      onMessage: (message) => this.#onMessage(message),
      onEnd: (error) => this.#onEnd(epoch, error),
    });
    return this.#current;
  }

  #onMessage(message: ControlMessage): void {
    if (isTransferMessage(message)) this.#parts.onMessage(message);
    else throw new TcpxError('ERR_WIRE_STATE', `${message.kind} is not for the control stream`);
  }

  #onEnd(epoch: number, { code, message }: TcpxError): void {
    const { link, log } = this.#parts;
    const error = new TcpxError(code, `${link.peer}: control stream: ${message}`);
    log.warn('control stream lost', { peer: link.peer, code, reason: message });
    if (code === 'ERR_PEER_LOST') {
      setTimeout(() => this.#parts.onLost(epoch, error), END_MS).unref();
      return;
    }
    // A rule that the peer broke costs it the session, as it would there.
    this.#parts.onLost(epoch, error);
    void link.session.close();
  }
}

/** Host of `host:port` or `[host]:port`. */
function hostOf(where: string): string {
  return where.slice(0, where.lastIndexOf(':')).replace(/^\[|\]$/g, '');
}
