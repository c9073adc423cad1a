// What a program may hear of a session while it lives: its end, and channels that come and go.

import { EventEmitter } from 'node:events';
import { checkFunction, checkText } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import { didYouMean } from '../base/suggestion.js';
import type { Session } from './session.js';

/** A channel of a session has changed. */
export interface ChannelChange {
  /** Number of the channel within its session, from 0. */
  readonly channel: number;
  /** Interface that it uses; empty where routing decides. */
  readonly nic: string;
  /** `up`: data moves over it again. */
  readonly state: 'up' | 'down';
}

/** What was on its way over a channel goes over others. */
export interface Failover {
  /** Number of the channel that was lost. */
  readonly channel: number;
  /** Interface that it used; empty where routing decides. */
  readonly nic: string;
  /** Why, for people. */
  readonly reason: string;
}

/** Events of a session and what their listeners are given. */
export interface SessionEventMap {
  /** The session has ended: without an error where either end closed it in order. */
  close: [error?: TcpxError];
  /** A channel was lost, and what it carried goes over others. */
  failover: [failover: Failover];
  /** A channel was lost, or is back. */
  channel: [change: ChannelChange];
  /** With `reconnect`: the session that follows this one, once it is lost. */
  reopen: [next: Session];
  /** With `reconnect`: it was given up, after the last attempt or one that no other can mend. */
  reopenFailed: [error: TcpxError];
}

type Listener<E extends keyof SessionEventMap> = (...given: SessionEventMap[E]) => void;

/** Ends that nobody need be told of as a failure. */
const ORDERLY: readonly string[] = ['ERR_PEER_GOODBYE', 'ERR_USAGE_STATE'];

const EVENTS: readonly (keyof SessionEventMap)[] = [
  'close',
  'failover',
  'channel',
  'reopen',
  'reopenFailed',
];

// One that never happens would be waited for in silence.
function checkEvent(event: unknown, listener: unknown): void {
  const known: readonly string[] = EVENTS;
  checkText('on: the event', event);
  if (!known.includes(event)) {
    const near = didYouMean(event, known) || `; there are: ${known.join(', ')}`;
    throw new TcpxError('ERR_USAGE_ARGUMENT', `a session has no event "${event}"${near}`);
  }
  checkFunction(`on ${event}: a listener`, listener);
}

export class SessionEvents {
  readonly #emitter = new EventEmitter();

  on<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): void {
    checkEvent(event, listener);
    this.#emitter.on(event, listener);
  }

  once<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): void {
    checkEvent(event, listener);
    this.#emitter.once(event, listener);
  }

  off<E extends keyof SessionEventMap>(event: E, listener: Listener<E>): void {
    checkEvent(event, listener);
    this.#emitter.off(event, listener);
  }

  /** Whoever listens here listens there too. */
  copyTo(next: SessionEvents): void {
    for (const event of this.#emitter.eventNames()) {
      for (const listener of this.#emitter.rawListeners(event)) {
        next.#emitter.on(event, listener as (...given: unknown[]) => void);
      }
    }
  }

  tell<E extends keyof SessionEventMap>(event: E, ...given: SessionEventMap[E]): void {
    if (this.#emitter.listenerCount(event) === 0) return;
    // Later: a listener may post, close or throw, and the engine is in the middle of something.
    queueMicrotask(() => this.#emitter.emit(event, ...given));
  }

  tellClose(error: TcpxError | undefined): void {
    if (error === undefined || ORDERLY.includes(error.code)) this.tell('close');
    else this.tell('close', error);
  }
}
