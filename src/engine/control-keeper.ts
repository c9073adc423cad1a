// Keeps a session's control connection. Where it is lost while data moves, the client attaches a
// new one, which proves that it belongs to the session as data connections do; the server, who
// cannot dial, asks for it over a data channel. All time comes from the host's timers.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Timers } from '../base/timers.js';
import { END_OF_STREAM } from '../transport/tcp/control-socket.js';
import { ControlKind, type ControlMessage } from '../wire/control-frame.js';
import { encodeControlLost } from '../wire/fence-signal.js';
import type { RedialOutcome } from './recovery.js';

/** The control connection, as far as a session needs it. */
export interface SessionControl {
  /** Where the peer is, for messages to people. */
  readonly where: string;
  readonly isOpen: boolean;
  send(message: ControlMessage): void;
  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
  ): void;
  /** Neither handler is called from here on. */
  close(): void;
}

export interface ControlKeeperHost {
  readonly log: Log;
  readonly timers: Timers;
  readonly peer: string;
  nowUs(): number;
  /** The client's: a new control connection of this epoch. Absent where the peer has to come. */
  readonly attach: ((epoch: number) => Promise<RedialOutcome>) | undefined;
  /** Sends it on any living channel, now or when there is one. */
  postSignal(bytes: Uint8Array): void;
  /** The peer asks for a new connection of a channel. */
  onRedial(channel: number, epoch: number): void;
  /** The peer's end was closed by its owner: the process has ended, unless it comes back. */
  onPeerEnded(error: TcpxError): void;
  onPeerBack(): void;
  lose(error: TcpxError): void;
}

const RETRY_FIRST_MS = 100;
const RETRY_LAST_MS = 2000;

export class ControlKeeper {
  readonly #host: ControlKeeperHost;
  #current: SessionControl;
  /** Counts the control connections of the session from 0; each number is used once. */
  #epoch = 0;
  #tried = 0;
  /** The last one that the peer has missed. */
  #missed = -1;
  #isAttaching = false;
  #cancelAttach: (() => void) | undefined;
  #isOver = false;

  constructor(host: ControlKeeperHost, first: SessionControl) {
    this.#host = host;
    this.#current = first;
  }

  get current(): SessionControl {
    return this.#current;
  }

  /** From now on the peer's messages are heeded, and the connection is missed when it is lost. */
  watch(): void {
    const control = this.#current;
    control.handOver(
      (message) => this.#onMessage(message),
      (error) => this.#onLost(control, error),
    );
  }

  #onMessage(message: ControlMessage): void {
    const { peer, attach } = this.#host;
    if (message.kind === ControlKind.Goodbye) {
      const text = `${peer} said goodbye: ${message.reason}`;
      this.#host.lose(new TcpxError('ERR_PEER_GOODBYE', text));
    } else if (message.kind === ControlKind.Redial && attach !== undefined) {
      this.#host.onRedial(message.channelIndex, message.epoch);
    } else {
      this.#host.lose(new TcpxError('ERR_WIRE_STATE', `${peer} sent an unexpected frame`));
    }
  }

  // Data and fences go without it: the session lives as long as its channels do.
  #onLost(control: SessionControl, error: TcpxError): void {
    if (this.#isOver) return;
    const { peer, log } = this.#host;
    const reason = error.message.replace(`${control.where}: `, '');
    if (error.code !== 'ERR_PEER_LOST') {
      const message = `${peer}: control connection: ${reason}`;
      this.#host.lose(new TcpxError(error.code, message, { cause: error }));
      return;
    }
    log.info('control connection lost', { peer, reason });
    if (reason === END_OF_STREAM) {
      const message = `${peer}: the peer has ended without a goodbye`;
      this.#host.onPeerEnded(new TcpxError('ERR_PEER_LOST', message, { cause: error }));
    }
    if (this.#hasStopped()) return;
    if (this.#host.attach !== undefined) this.#attachSoon(0);
    else this.#host.postSignal(encodeControlLost({ controlEpoch: this.#epoch }));
  }

  /** The peer has lost its end, by its word over a data channel. */
  onMissed(epoch: number): void {
    if (this.#isOver) return;
    if (this.#host.attach === undefined) {
      const text = `${this.#host.peer} misses a control connection that it has to open itself`;
      this.#host.lose(new TcpxError('ERR_WIRE_STATE', text));
      return;
    }
    // About an earlier one: its successor has come meanwhile.
    if (epoch < this.#epoch) return;
    this.#missed = epoch;
    this.#attachSoon(0);
  }

  #attachSoon(delayMs: number): void {
    if (this.#isAttaching) return;
    this.#isAttaching = true;
    const { timers, peer } = this.#host;
    this.#cancelAttach = timers.at(this.#host.nowUs() + delayMs * 1000, () => {
      this.#attach(delayMs).catch((error: unknown) => {
        this.#host.lose(toTcpxError(error, 'ERR_SYS_CALL', `${peer}: attach control`));
      });
    });
  }

  async #attach(delayMs: number): Promise<void> {
    const { attach, peer } = this.#host;
    if (attach === undefined) return;
    const epoch = ++this.#tried;
    this.#current.close();
    const outcome = await attach(epoch);
    this.#isAttaching = false;
    if (this.#hasStopped()) return;
    // It may have failed again before it was taken over.
    if (outcome === 'attached' && this.#current.isOpen && this.#missed !== epoch) return;
    if (outcome === 'unknown') {
      const text = `${peer} does not know the session any more`;
      this.#host.lose(new TcpxError('ERR_PEER_STALE_SESSION', text, { facts: { peer } }));
      return;
    }
    this.#attachSoon(Math.min(RETRY_LAST_MS, Math.max(RETRY_FIRST_MS, 2 * delayMs)));
  }

  #hasStopped(): boolean {
    return this.#isOver;
  }

  /** The server's: whether a connection with this number may follow. A recorded one may not. */
  assertNext(epoch: number): void {
    if (epoch > this.#epoch) return;
    throw new TcpxError(
      'ERR_WIRE_STATE',
      `${this.#host.peer}: control connection ${this.#epoch} has come: ${epoch} is too late`,
    );
  }

  /** A new connection has proved itself and takes the place of the old one. */
  replace(control: SessionControl, epoch: number): void {
    this.#current.close();
    this.#current = control;
    this.#epoch = epoch;
    this.#host.log.info('control connection is back', { peer: this.#host.peer, epoch });
    this.#host.onPeerBack();
    this.watch();
  }

  /** The session ends: its control connection too. */
  stop(): void {
    this.#isOver = true;
    this.#cancelAttach?.();
    this.#current.close();
  }
}
