// A virtual control connection: messages travel with a delay, may come twice, and the connection
// may be lost. Both ends look at what has come when their main thread runs.

import { TcpxError } from '../../base/errors.js';
import type { SessionControl } from '../../engine/control-keeper.js';
import { END_OF_STREAM } from '../../transport/tcp/control-socket.js';
import type { ControlMessage } from '../../wire/control-frame.js';

export interface ControlRules {
  /** Calls after the time that a message takes. */
  travel(act: () => void): void;
  isDuplicated(): boolean;
}

type Arrival = { readonly message: ControlMessage } | { readonly loss: string };

export class SimControl implements SessionControl {
  readonly where: string;
  readonly #rules: ControlRules;
  readonly #arrivals: Arrival[] = [];
  peer: SimControl | undefined;
  isOpen = true;
  #onMessage: ((message: ControlMessage) => void) | undefined;
  #onFailure: ((error: TcpxError) => void) | undefined;

  constructor(where: string, rules: ControlRules) {
    this.where = where;
    this.#rules = rules;
  }

  send(message: ControlMessage): void {
    if (!this.isOpen) throw new TcpxError('ERR_PEER_LOST', `${this.where}: connection is gone`);
    const count = this.#rules.isDuplicated() ? 2 : 1;
    for (let copy = 0; copy < count; copy++) this.#toPeer({ message });
  }

  #toPeer(arrival: Arrival): void {
    const { peer } = this;
    this.#rules.travel(() => {
      if (peer?.isOpen === true) peer.#arrivals.push(arrival);
    });
  }

  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
  ): void {
    this.#onMessage = onMessage;
    this.#onFailure = onFailure;
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#toPeer({ loss: END_OF_STREAM });
  }

  /** An accident: this end is told that the connection is gone. */
  lose(reason: string): void {
    this.#arrivals.push({ loss: reason });
  }

  /** The machine is gone, without a word. */
  vanish(): void {
    this.isOpen = false;
  }

  /** Hands on what has come; returns how much. */
  poll(): number {
    if (this.#onMessage === undefined) return 0;
    let count = 0;
    for (let next = this.#arrivals.shift(); next !== undefined; next = this.#arrivals.shift()) {
      if (!this.isOpen) return count;
      count++;
      if ('message' in next) {
        this.#onMessage(next.message);
        continue;
      }
      this.isOpen = false;
      this.#onFailure?.(new TcpxError('ERR_PEER_LOST', `${this.where}: ${next.loss}`));
    }
    return count;
  }
}
