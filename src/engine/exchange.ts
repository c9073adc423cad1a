// One end of a conversation on a connection that has not proved itself yet, as a pure machine. A
// message, the loss of the connection or the time goes in; what to send and what comes next goes
// out. Whoever owns the connection drives it: sockets, or a simulation.

import { assert } from '../base/assert.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import {
  ControlKind,
  type ControlMessage,
  controlKindName,
  type MessageOf,
} from '../wire/control-frame.js';

/** What is known of a connection before anything was said on it. */
export interface ConnectionFacts {
  /** Where the peer is, for messages to people. */
  readonly where: string;
  readonly isLoopback: boolean;
}

export type Next<T> =
  /** A message is due until then, in the microseconds that the machine is given. */
  | { readonly kind: 'wait'; readonly untilUs: number }
  | { readonly kind: 'done'; readonly result: T }
  | { readonly kind: 'failed'; readonly error: TcpxError };

export interface Move<T> {
  readonly send: readonly ControlMessage[];
  readonly next: Next<T>;
}

/** What one step of a machine comes to; a step that fails throws a TcpxError. */
export type Outcome<T> =
  | { readonly send: readonly ControlMessage[]; readonly due: readonly ControlKind[] }
  | { readonly send: readonly ControlMessage[]; readonly result: T };

const NOTHING_DUE: readonly ControlKind[] = [];

export abstract class Exchange<T> {
  protected readonly where: string;
  readonly #timeoutMs: number;
  /** Kinds that may come now; none before the start and at the end. */
  #due = NOTHING_DUE;
  #untilUs = 0;
  #state: 'new' | 'waiting' | 'over' = 'new';

  constructor(where: string, timeoutMs: number) {
    this.where = where;
    this.#timeoutMs = timeoutMs;
  }

  /** What is said first, if this end begins. */
  protected abstract begin(): Outcome<T>;

  /** A message that is due has come. */
  protected abstract hear(message: ControlMessage): Outcome<T>;

  start(nowUs: number): Move<T> {
    assert(this.#state === 'new', 'a conversation begins once');
    return this.#step(nowUs, () => this.begin());
  }

  onMessage(message: ControlMessage, nowUs: number): Move<T> {
    assert(this.#state === 'waiting', `a message is heard while one is due, not ${this.#state}`);
    return this.#step(nowUs, () => this.hear(this.#checkDue(message)));
  }

  onLost(error: TcpxError): Move<T> {
    assert(this.#state !== 'over', 'a conversation that is over loses no connection');
    return this.#end(error);
  }

  /** The owner's alarm has rung; early ones are nothing. */
  onTime(nowUs: number): Move<T> {
    assert(this.#state === 'waiting', `time matters while a message is due, not ${this.#state}`);
    if (nowUs < this.#untilUs) return { send: [], next: this.#waiting() };
    const late = `no ${this.#dueNames()} within ${this.#timeoutMs} ms`;
    return this.#end(new TcpxError('ERR_PEER_TIMEOUT', `${this.where}: ${late}`));
  }

  #step(nowUs: number, act: () => Outcome<T>): Move<T> {
    let outcome: Outcome<T>;
    try {
      outcome = act();
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      return this.#end(error);
    }
    if ('result' in outcome) {
      this.#state = 'over';
      return { send: outcome.send, next: { kind: 'done', result: outcome.result } };
    }
    assert(outcome.due.length > 0, 'a step waits for something or has a result');
    this.#state = 'waiting';
    this.#due = outcome.due;
    this.#untilUs = nowUs + this.#timeoutMs * 1000;
    return { send: outcome.send, next: this.#waiting() };
  }

  #waiting(): Next<T> {
    return { kind: 'wait', untilUs: this.#untilUs };
  }

  #end(error: TcpxError): Move<T> {
    this.#state = 'over';
    return { send: [], next: { kind: 'failed', error } };
  }

  #checkDue(message: ControlMessage): ControlMessage {
    if (this.#due.includes(message.kind)) return message;
    if (message.kind === ControlKind.Refuse) throw this.refused(message);
    const what = controlKindName(message.kind);
    throw new TcpxError(
      'ERR_WIRE_STATE',
      `${this.where}: ${what} where ${this.#dueNames()} is due`,
    );
  }

  /** What a REFUSE of the peer means here. */
  protected refused({ code, reason }: MessageOf<typeof ControlKind.Refuse>): TcpxError {
    return new TcpxError('ERR_PEER_REFUSED', `${this.where} refused: ${code}: ${reason}`, {
      facts: { peer: this.where, code },
    });
  }

  #dueNames(): string {
    return this.#due.map(controlKindName).join(' or ');
  }
}
