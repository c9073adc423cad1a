// Notifications for a program that takes them with `for await`. One that does not keep up is told
// so: what waits is bounded in number and bytes.

import { AbortError, throwIfAborted } from '../base/abort.js';
import { checkOptions, checkSignal } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { PeerNotification } from './notification.js';

const WAITING_MAX = 65_536;
const WAITING_BYTES_MAX = 64 * 1024 * 1024;

type Result = IteratorResult<PeerNotification, undefined>;

interface Waiter {
  resolve(result: Result): void;
  reject(error: Error): void;
}

const END: Result = { done: true, value: undefined };

/** The streams that a program has open: each gets every notification. */
export class NotificationStreams {
  readonly #open = new Set<NotificationStream>();

  open(options: { readonly signal?: AbortSignal }): NotificationStream {
    checkOptions('notifications', options, { signal: checkSignal });
    const { signal } = options;
    throwIfAborted(signal, 'notifications');
    const abort = (): void => {
      if (signal !== undefined) stream.end(new AbortError('notifications: aborted', signal));
    };
    const stream = new NotificationStream((ended) => {
      this.#open.delete(ended);
      signal?.removeEventListener('abort', abort);
    });
    this.#open.add(stream);
    signal?.addEventListener('abort', abort, { once: true });
    return stream;
  }

  push(notification: PeerNotification): void {
    for (const stream of this.#open) stream.push(notification);
  }

  /** The engine ends. */
  end(): void {
    for (const stream of this.#open) stream.end();
  }
}

/**
 * Notifications in the order in which they landed; see `Engine.notifications`.
 * @example
 * for await (const { session, text } of engine.notifications()) console.log(session.peer, text);
 */
export class NotificationStream implements AsyncIterableIterator<PeerNotification, undefined> {
  readonly #onEnd: (stream: NotificationStream) => void;
  readonly #waiting: PeerNotification[] = [];
  readonly #waiters: Waiter[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #error: Error | undefined;

  /** @internal */
  constructor(onEnd: (stream: NotificationStream) => void) {
    this.#onEnd = onEnd;
  }

  /**
   * Called by the engine.
   * @internal
   */
  push(notification: PeerNotification): void {
    if (this.#isOver) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: notification });
      return;
    }
    this.#waiting.push(notification);
    this.#waitingBytes += notification.bytes.length;
    if (this.#waiting.length <= WAITING_MAX && this.#waitingBytes <= WAITING_BYTES_MAX) return;
    const text =
      `${this.#waiting.length} notifications (${this.#waitingBytes} bytes) wait to be taken, ` +
      `more than are kept; take them faster or use onNotification`;
    this.end(new TcpxError('ERR_USAGE_STATE', text));
  }

  /**
   * Called by the engine: what waits is still given out, then the end, or the error.
   * @internal
   */
  end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.#onEnd(this);
    for (const waiter of this.#waiters.splice(0)) {
      if (error === undefined) waiter.resolve(END);
      else waiter.reject(error);
    }
  }

  /** The next one, now or when it comes. */
  next(): Promise<Result> {
    const notification = this.#waiting.shift();
    if (notification !== undefined) {
      this.#waitingBytes -= notification.bytes.length;
      return Promise.resolve({ done: false, value: notification });
    }
    if (this.#error !== undefined) return Promise.reject(this.#error);
    if (this.#isOver) return Promise.resolve(END);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** `break` in the loop. */
  return(): Promise<Result> {
    this.#waiting.length = 0;
    this.end();
    return Promise.resolve(END);
  }

  /** The stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }
}
