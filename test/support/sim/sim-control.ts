// A virtual control connection: messages travel with a delay, may come twice, and the connection
// may be lost. Both ends look at what has come when their main thread runs.

import { TcpxError } from '../../../src/base/errors.js';
import type { SessionControl } from '../../../src/engine/control-keeper.js';
import { END_OF_STREAM } from '../../../src/os/control-socket.js';
import { probeSeconds } from '../../../src/os/keep-alive.js';
import type { ControlMessage } from '../../../src/wire/control-frame.js';
import type { SimTime } from './sim-time.js';

export interface ControlRules {
  readonly time: SimTime;
  /** How long a message takes. */
  delayUs(): number;
  /** From when on the path between the two machines carries anything. */
  openUs(): number;
  isDuplicated(): boolean;
}

type Arrival = { readonly message: ControlMessage } | { readonly loss: string };

export class SimControl implements SessionControl {
  readonly localHost = '127.0.0.1';
  readonly where: string;
  readonly #rules: ControlRules;
  readonly #arrivals: Arrival[] = [];
  peer: SimControl | undefined;
  isOpen = true;
  /** Nothing passes from or to this end before this time. */
  frozenUs = 0;
  #heardUs = 0;
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
    const { time } = this.#rules;
    const arrive = (): void => {
      if (peer?.isOpen !== true) return;
      if (!this.isSilent) peer.#arrivals.push(arrival);
      else if (this.openUs < Number.POSITIVE_INFINITY) time.at(this.openUs, arrive);
    };
    time.after(this.#rules.delayUs(), arrive);
  }

  /** When what is sent now can arrive at the earliest. */
  get openUs(): number {
    return Math.max(this.frozenUs, this.peer?.frozenUs ?? 0, this.#rules.openUs());
  }

  handOver(
    onMessage: (message: ControlMessage) => void,
    onFailure: (error: TcpxError) => void,
    silentMs: number,
  ): void {
    this.#onMessage = onMessage;
    this.#onFailure = onFailure;
    this.#heardUs = this.#rules.time.nowUs;
    this.#probeSoon(silentMs * 1000);
  }

  // As the kernel does with keep-alive questions: see transport/tcp/keep-alive.ts.
  #probeSoon(silentUs: number): void {
    const { time } = this.#rules;
    time.after(probeSeconds(silentUs / 1000) * 1e6, () => {
      if (!this.isOpen) return;
      this.#probe(silentUs);
      this.#probeSoon(silentUs);
    });
  }

  #probe(silentUs: number): void {
    const { time } = this.#rules;
    if (this.isSilent) {
      if (time.nowUs - this.#heardUs >= silentUs) this.lose('ETIMEDOUT');
      return;
    }
    this.#heardUs = time.nowUs;
    // Nobody there knows the connection.
    if (this.peer?.isOpen !== true) this.lose('ECONNRESET');
  }

  /** Nothing passes, in either direction, and nobody is told. */
  get isSilent(): boolean {
    const { time } = this.#rules;
    return this.openUs > time.nowUs;
  }

  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#toPeer({ loss: END_OF_STREAM });
  }

  abort(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.#toPeer({ loss: 'ECONNRESET' });
  }

  /** An accident: this end is told that the connection is gone. */
  lose(reason: string): void {
    this.#arrivals.push({ loss: reason });
  }

  /** The machine is gone, without a word. */
  vanish(): void {
    this.isOpen = false;
    this.frozenUs = Number.POSITIVE_INFINITY;
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
