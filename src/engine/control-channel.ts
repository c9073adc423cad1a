// Control frames over a control socket: whole messages in order, awaited with a deadline.

import { assert } from '../base/assert.js';
import { systemClock, TIMER_MS_MAX } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { type CongestionChoice, roundTripUs, settleCongestion } from '../os/congestion.js';
import { identifySocket } from '../os/connection-counters.js';
import type { ControlSet } from '../os/control-set.js';
import { ControlSocket } from '../os/control-socket.js';
import { type SocketTuning, tuneSocket } from '../os/dial.js';
import { type ControlMessage, controlKindName, encodeControl } from '../wire/control-frame.js';
import { ControlReader } from '../wire/control-reader.js';
import type { DataSocket, Heard, PeerConnection } from './peer-network.js';

export class ControlChannel implements PeerConnection {
  readonly socket: ControlSocket;
  /** Where the peer is, for messages to people. */
  readonly where: string;
  readonly #tuning: SocketTuning;
  readonly #congestion: CongestionChoice;
  readonly #reader = new ControlReader();
  #waiter: ((heard: Heard) => void) | undefined;
  #failure: TcpxError | undefined;
  #onMessage: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;

  constructor(set: ControlSet, fd: number, tuning: SocketTuning, congestion: CongestionChoice) {
    this.#tuning = tuning;
    this.#congestion = congestion;
    this.socket = new ControlSocket(set, fd, {
      bytesWanted: () => this.#reader.bytesWanted,
      isAmidFrame: () => this.#reader.isAmidFrame,
      onBytes: (bytes) => this.#onBytes(bytes),
      onClosed: (reason) => this.#fail(new TcpxError('ERR_PEER_LOST', `${this.where}: ${reason}`)),
    });
    const host = this.socket.peerHost;
    this.where = `${host.includes(':') ? `[${host}]` : host}:${this.socket.peerPort}`;
  }

  get isOpen(): boolean {
    return this.socket.isOpen;
  }

  get peerHost(): string {
    return this.socket.peerHost;
  }

  get isLoopback(): boolean {
    return this.socket.isLoopback;
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

  hear(untilUs: number): Promise<Heard> {
    assert(this.#waiter === undefined && this.#onMessage === undefined, 'one waits at a time');
    if (this.#failure !== undefined) {
      return Promise.resolve({ kind: 'lost', error: this.#failure });
    }
    this.socket.setReading(true);
    return new Promise((resolve) => {
      const delayMs = Math.max(0, (untilUs - systemClock.nowUs()) / 1000);
      // Whoever awaits what comes of it holds the process.
      const timer = setTimeout(
        () => this.#tell({ kind: 'time' }),
        Math.min(delayMs, TIMER_MS_MAX),
      ).unref();
      this.#waiter = (heard) => {
        clearTimeout(timer);
        resolve(heard);
      };
    });
  }

  #tell(heard: Heard): void {
    const waiter = this.#waiter;
    this.#waiter = undefined;
    waiter?.(heard);
  }

  get roundTripUs(): number {
    return roundTripUs(this.socket.fd);
  }

  tune(): void {
    tuneSocket(this.socket.fd, this.#tuning);
  }

  release(): DataSocket {
    const { fd } = this.socket;
    if (!this.isLoopback) settleCongestion(fd, this.#congestion);
    this.socket.release();
    return { fd, socket: identifySocket(fd) };
  }

  /** From now on messages go to a handler, and silence of the peer's kernel is a failure. */
  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
    silentMs: number,
  ): void {
    // Whoever still waits for a message is not the one to get it.
    this.#tell({ kind: 'time' });
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
    if (this.#waiter === undefined) return;
    const error = new TcpxError('ERR_USAGE_STATE', `${this.where}: the connection was closed`);
    this.#tell({ kind: 'lost', error });
  }

  // No more than the frame that is due arrives here; see bytesWanted.
  #onBytes(bytes: Uint8Array): void {
    let message: ControlMessage | undefined;
    try {
      message = this.#reader.push(bytes);
    } catch (error) {
      this.#onBroken(error);
      return;
    }
    if (message !== undefined) this.#deliver(message);
  }

  // The socket stays open: the peer is told the rule that it broke.
  #onBroken(error: unknown): void {
    const rule = error instanceof Error ? error.message : String(error);
    const code = error instanceof TcpxError ? error.code : 'ERR_WIRE_FRAME';
    this.socket.setReading(false);
    this.#fail(new TcpxError(code, `${this.where}: ${rule}`, { cause: error }));
  }

  #deliver(message: ControlMessage): void {
    if (this.#onMessage !== undefined) {
      this.#onMessage(message);
      return;
    }
    // Until somebody asks again nothing is read: the socket may become a data channel.
    this.socket.setReading(false);
    this.#tell({ kind: 'message', message });
  }

  #fail(error: TcpxError): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#tell({ kind: 'lost', error });
    this.#onFailure?.(error);
  }
}
