// Keeps a session's control connection. Where it is lost while data moves, the client attaches a
// new one, which proves that it belongs to the session as data connections do; whoever has lost its
// end says so over a data channel, as the other may not know. Time comes from the host's timers.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import { stacklessError } from '../base/stackless-error.js';
import type { Timers } from '../base/timers.js';
import { END_OF_STREAM } from '../os/control-socket.js';
import {
  ControlKind,
  type ControlMessage,
  controlKindName,
  type Found,
  type Lookup,
} from '../wire/control-frame.js';
import { encodeControlLost } from '../wire/fence-signal.js';
import type { RedialOutcome } from './recovery-host.js';
import { RetryDelay } from './retry-delay.js';

/** The control connection, as far as a session needs it. */
export interface SessionControl {
  /** Where the peer is, for messages to people. */
  readonly where: string;
  /** Own address of the connection. */
  readonly localHost: string;
  readonly isOpen: boolean;
  send(message: ControlMessage): void;
  /** Silence of the peer's kernel for `silentMs` and more is a failure too. */
  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
    silentMs: number,
  ): void;
  /** Neither handler is called from here on. */
  close(): void;
  /** As close, for one that is given up: the peer must not take it for the end of the process. */
  abort(): void;
}

/** Until the peer is told for the second time that its control connection is missed. */
const MISSED_MS = 2000;

export interface ControlLimits {
  readonly controlTimeoutMs: number;
  readonly reconnectMs: number;
}

export interface ControlKeeperHost {
  readonly log: Log;
  readonly timers: Timers;
  readonly peer: string;
  readonly limits: ControlLimits;
  nowUs(): number;
  /** The client's: a new control connection of this epoch. Absent where the peer has to come. */
  readonly attach: ((epoch: Epoch) => Promise<RedialOutcome>) | undefined;
  /** Sends it on any living channel, now or when there is one. */
  postSignal(bytes: Uint8Array): void;
  /** The peer asks for a new connection of a channel. */
  onRedial(channel: ChannelIndex, epoch: Epoch): void;
  /** The peer asks for a region by name: the answer. */
  onLookup(lookup: Lookup): ControlMessage;
  onFound(found: Found): void;
  /** The peer's end was closed by its owner: the process has ended, unless it comes back. */
  onPeerEnded(error: TcpxError): void;
  onPeerBack(): void;
  /** The peer ends the session in order. */
  onGoodbye(error: TcpxError): void;
  lose(error: TcpxError): void;
}

export class ControlKeeper {
  readonly #host: ControlKeeperHost;
  #current: SessionControl;
  /** Counts the control connections of the session from 0; each number is used once. */
  #epoch = 0;
  #tried = 0;
  /** The last one that the peer has missed. */
  #missed = -1;
  /** The client uses this one too: until then an end of it says nothing about the client. */
  #isTaken = true;
  readonly #delay: RetryDelay;
  #isAttaching = false;
  #cancelAttach: (() => void) | undefined;
  #cancelMiss: (() => void) | undefined;
  #isOver = false;

  constructor(host: ControlKeeperHost, first: SessionControl) {
    this.#host = host;
    this.#current = first;
    this.#delay = new RetryDelay(host.limits.reconnectMs, host.nowUs());
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
      this.#host.limits.controlTimeoutMs,
    );
  }

  #onMessage(message: ControlMessage): void {
    const { peer, attach } = this.#host;
    if (message.kind === ControlKind.Goodbye) {
      const text = `${peer} said goodbye: ${message.reason}`;
      // Its connections end now, and nothing is to be made of that.
      this.stop();
      this.#host.onGoodbye(stacklessError('ERR_PEER_GOODBYE', text));
    } else if (message.kind === ControlKind.Redial && attach !== undefined) {
      this.#host.onRedial(message.channelIndex, message.epoch);
    } else if (message.kind === ControlKind.Lookup) {
      this.#answer(message);
    } else if (message.kind === ControlKind.Found) {
      this.#host.onFound(message);
    } else if (this.#isTakenBy(message)) {
      // One that comes twice says nothing new.
      this.#isTaken = true;
    } else {
      const what = controlKindName(message.kind);
      const text = `${peer} sent ${what}, which is not due in control epoch ${this.#epoch}`;
      this.#host.lose(new TcpxError('ERR_WIRE_STATE', text));
    }
  }

  // One that asks and takes no answers would have them pile up here.
  #answer(lookup: Lookup): void {
    try {
      this.#current.send(this.#host.onLookup(lookup));
    } catch (error) {
      const text = `${this.#host.peer} asks for names and does not take the answers`;
      this.#host.lose(new TcpxError('ERR_WIRE_LIMIT', text, { cause: error }));
    }
  }

  // Only a client says so, of the connection that it has attached anew.
  #isTakenBy(message: ControlMessage): boolean {
    if (message.kind !== ControlKind.Taken || this.#host.attach !== undefined) return false;
    return this.#epoch > 0 && message.epoch === this.#epoch;
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
    if (reason === END_OF_STREAM && this.#isTaken) {
      const message = `${peer}: the peer has ended without a goodbye`;
      this.#host.onPeerEnded(new TcpxError('ERR_PEER_LOST', message, { cause: error }));
    }
    if (this.#hasStopped()) return;
    this.#miss(MISSED_MS);
    this.#attachAfterLoss();
  }

  // The peer may not know, so it is told over a channel: again and again, ever less often. One that
  // has gone after the first word does not confirm the next, by which the channels find out.
  #miss(againMs: number): void {
    const { timers } = this.#host;
    this.#host.postSignal(encodeControlLost({ controlEpoch: this.#epoch }));
    if (this.#hasStopped()) return;
    this.#cancelMiss = timers.at(this.#host.nowUs() + againMs * 1000, () =>
      this.#miss(2 * againMs),
    );
  }

  /** The peer has lost its end, by its word over a data channel. */
  onMissed(epoch: Epoch): void {
    // About an earlier one: its successor has come meanwhile.
    if (this.#isOver || epoch < this.#epoch) return;
    if (this.#current.isOpen && this.#missed !== epoch) {
      const { peer, log } = this.#host;
      log.info('control connection lost', { peer, reason: 'the peer has lost its end' });
    }
    this.#missed = epoch;
    if (this.#host.attach === undefined) this.#current.abort();
    else this.#attachAfterLoss();
  }

  #attachAfterLoss(): void {
    if (this.#host.attach === undefined || this.#isAttaching) return;
    this.#attachSoon(this.#delay.afterLoss(this.#host.nowUs()));
  }

  #attachSoon(delayMs: number): void {
    this.#isAttaching = true;
    const { timers, peer } = this.#host;
    this.#cancelAttach = timers.at(this.#host.nowUs() + delayMs * 1000, () => {
      this.#attach().catch((error: unknown) => {
        this.#host.lose(toTcpxError(error, 'ERR_SYS_CALL', `${peer}: attach control`));
      });
    });
  }

  async #attach(): Promise<void> {
    const { attach, peer } = this.#host;
    if (attach === undefined) return;
    const epoch = ++this.#tried;
    this.#current.abort();
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
    this.#attachSoon(this.#delay.afterFailure());
  }

  #hasStopped(): boolean {
    return this.#isOver;
  }

  /** The server's: whether a connection with this number may follow. A recorded one may not. */
  assertNext(epoch: Epoch): void {
    if (epoch > this.#epoch) return;
    throw new TcpxError(
      'ERR_WIRE_STATE',
      `${this.#host.peer}: control connection ${this.#epoch} has come: ${epoch} is too late`,
    );
  }

  /** A new connection has proved itself and takes the place of the old one. */
  replace(control: SessionControl, epoch: Epoch): void {
    this.#current.abort();
    this.#current = control;
    this.#epoch = epoch;
    this.#cancelMiss?.();
    this.#delay.onMade(this.#host.nowUs());
    this.#isTaken = this.#host.attach !== undefined;
    this.#host.log.info('control connection is back', { peer: this.#host.peer, epoch });
    if (this.#host.attach !== undefined) this.#sayTaken(control, epoch);
    this.#host.onPeerBack();
    this.watch();
  }

  #sayTaken(control: SessionControl, epoch: Epoch): void {
    try {
      control.send({ kind: ControlKind.Taken, epoch });
    } catch {
      // It has failed already: its keeper is told when it watches.
    }
  }

  /** The session ends: its control connection too. */
  stop(): void {
    this.#isOver = true;
    this.#cancelAttach?.();
    this.#cancelMiss?.();
    this.#current.close();
  }
}
