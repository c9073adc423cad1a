// One connection of the metadata exchange. Either side may push, pull or invalidate at any time, so
// accepted and opened connections are alike. Whoever breaks the format is cut off.

import type { Socket } from 'node:net';
import { afterMs } from '../base/clock.js';
import { formatEndpoint } from '../base/endpoint.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { BudgetHolder, ListenerBudget } from './listener-budget.js';
import {
  decodeFrameHead,
  decodeListenerBody,
  encodeListenerFrame,
  FRAME_HEAD_BYTES,
  type ListenerMessage,
} from './listener-message.js';
import { SocketReader, writeAll } from './socket-reader.js';

/** NIXL's own limit for the body once its length has come. */
const BODY_TIMEOUT_MS = 5000;

export interface MetadataHandlers {
  /** This agent's full metadata. */
  ownBlob(): Uint8Array;
  onLoad(blob: Uint8Array, origin: string): void;
  onInvalidate(agent: string, origin: string): void;
}

interface PendingPull {
  readonly resolve: (blob: Uint8Array) => void;
  readonly reject: (error: TcpxError) => void;
}

export interface ConnectionOptions {
  readonly handlers: MetadataHandlers;
  readonly frameBytesMax: number;
  readonly budget: ListenerBudget;
  /** Of what the peer causes. */
  readonly warnings: LimitedLog;
  readonly log: Log;
}

export class MetadataConnection implements BudgetHolder {
  readonly label: string;
  /** Names the host, not the port: peers come back from other ports. */
  readonly origin: string;
  readonly #socket: Socket;
  readonly #reader: SocketReader;
  readonly #options: ConnectionOptions;
  readonly #pulls: PendingPull[] = [];
  /** What is arriving. */
  #arrivingBytes = 0;

  constructor(socket: Socket, options: ConnectionOptions) {
    const host = (socket.remoteAddress ?? 'unknown').replace(/^::ffff:/, '');
    this.label = formatEndpoint(host, socket.remotePort ?? 0);
    this.origin = `socket:${host}`;
    this.#socket = socket;
    this.#reader = new SocketReader(socket, `metadata peer ${this.label}`);
    this.#options = options;
    socket.unref();
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.writable;
  }

  /** Serves until the connection ends; never rejects. */
  async serve(): Promise<void> {
    try {
      for (;;) {
        const head = await this.#reader.read(FRAME_HEAD_BYTES, 0);
        const bytes = decodeFrameHead(head, this.#options.frameBytesMax);
        const body = await this.#reader.read(bytes, BODY_TIMEOUT_MS, (held) => this.#hold(held));
        for (const message of decodeListenerBody(body)) this.#obey(message);
        this.#hold(0);
      }
    } catch (error) {
      this.#end(toTcpxError(error, 'ERR_PEER_LOST', `metadata connection ${this.label}`));
    }
  }

  async send(message: ListenerMessage): Promise<void> {
    const frame = encodeListenerFrame(message);
    if (!this.isOpen) throw new TcpxError('ERR_PEER_LOST', `${this.label}: the connection ended`);
    // Idle connections do not keep the program alive; one with something to say does.
    this.#socket.ref();
    try {
      const written = writeAll(this.#socket, frame, `metadata peer ${this.label}`);
      this.#hold(this.#arrivingBytes);
      await written;
    } finally {
      this.#onWritten();
    }
  }

  #onWritten(): void {
    if (!this.isOpen) return;
    this.#socket.unref();
    this.#hold(this.#arrivingBytes);
  }

  // A peer that does not take its answers holds memory here as well.
  #hold(arrivingBytes: number): void {
    this.#arrivingBytes = arrivingBytes;
    const { destroyed, writableLength } = this.#socket;
    this.#options.budget.set(this, destroyed ? 0 : arrivingBytes + writableLength);
  }

  cutOff(error: TcpxError): void {
    this.#end(error);
  }

  /** Asks for the peer's metadata; the next LOAD on this connection is the answer. */
  async pull(timeoutMs: number): Promise<Uint8Array> {
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      this.#pulls.push({ resolve, reject });
    });
    const stopTimer = afterMs(timeoutMs, () => {
      const what = `pull metadata from ${this.label}: no answer within ${timeoutMs} ms`;
      this.#end(new TcpxError('ERR_PEER_TIMEOUT', what));
    });
    try {
      await this.send({ verb: 'SEND' });
      return await answer;
    } finally {
      stopTimer();
      answer.catch(() => undefined);
    }
  }

  close(): void {
    this.#end(new TcpxError('ERR_PEER_GOODBYE', `metadata connection ${this.label} was closed`));
  }

  #obey(message: ListenerMessage): void {
    switch (message.verb) {
      case 'SEND':
        this.#answerPull();
        return;
      case 'LOAD': {
        const pull = this.#pulls.shift();
        if (pull !== undefined) pull.resolve(message.blob);
        else this.#try('load', () => this.#options.handlers.onLoad(message.blob, this.origin));
        return;
      }
      case 'INVL':
        this.#try('invalidate', () =>
          this.#options.handlers.onInvalidate(message.agent, this.origin),
        );
    }
  }

  #answerPull(): void {
    this.#try('answer a pull', () => {
      const blob = this.#options.handlers.ownBlob();
      this.send({ verb: 'LOAD', blob }).catch((error: unknown) => {
        this.#options.log.debug('metadata answer lost', {
          peer: this.label,
          reason: String(error),
        });
      });
    });
  }

  /** What a well-formed message asks may still be refused; that costs the peer nothing else. */
  #try(action: string, body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#options.warnings.warn('metadata refused', {
        action,
        peer: this.label,
        reason: String(error),
      });
    }
  }

  #end(error: TcpxError): void {
    if (error.code.startsWith('ERR_WIRE_')) {
      this.#options.warnings.warn('metadata peer cut off', {
        peer: this.label,
        reason: error.message,
      });
    }
    this.#socket.destroy();
    this.#options.budget.set(this, 0);
    for (const pull of this.#pulls.splice(0)) pull.reject(error);
  }
}
