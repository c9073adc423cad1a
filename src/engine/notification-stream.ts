// Notifications for a program that takes them with `for await`. One that does not keep up is told
// so: what waits is bounded in number and bytes.

import { AbortError, onAbort, throwIfAborted } from '../base/abort.js';
import { checkOptions, checkSignal } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { SettingValues } from '../base/settings.js';
import type { PeerNotification } from './notification.js';

type Result = IteratorResult<PeerNotification, undefined>;

/** What may wait in one stream. */
export interface StreamLimits {
  readonly countMax: number;
  readonly bytesMax: number;
}

interface Waiter {
  resolve(result: Result): void;
  reject(error: Error): void;
}

const END: Result = { done: true, value: undefined };

/** The streams that a program has open: each gets every notification. */
export class NotificationStreams {
  readonly #limits: StreamLimits;
  readonly #open = new Set<NotificationStream>();

  constructor(values: Pick<SettingValues, 'memory.streamMax' | 'memory.streamBytes'>) {
    this.#limits = { countMax: values['memory.streamMax'], bytesMax: values['memory.streamBytes'] };
  }

  open(options: { readonly signal?: AbortSignal }): NotificationStream {
    checkOptions('notifications', options, { signal: checkSignal });
    const { signal } = options;
    throwIfAborted(signal, 'notifications');
    const abort = (): void => {
      if (signal !== undefined)
        endStream(stream, new AbortError('notifications: aborted by its signal', signal));
    };
    const stream = new NotificationStream(this.#limits, (ended) => {
      this.#open.delete(ended);
      release();
    });
    this.#open.add(stream);
    const release = onAbort(signal, abort);
    return stream;
  }

  push(notification: PeerNotification): void {
    for (const stream of this.#open) pushTo(stream, notification);
  }

  /** The engine ends. */
  end(): void {
    for (const stream of this.#open) endStream(stream);
  }
}

/** For the engine. */
export let pushTo: (stream: NotificationStream, notification: PeerNotification) => void;
/** For the engine. */
export let endStream: (stream: NotificationStream, error?: Error) => void;

/**
 * Notifications in the order in which they landed; see `Engine.notifications`.
 * @example
 * for await (const { session, text } of engine.notifications()) console.log(session.peer, text);
 */
export class NotificationStream implements AsyncIterableIterator<PeerNotification, undefined> {
  static {
    pushTo = (stream, notification) => stream.#push(notification);
    endStream = (stream, error) => stream.#end(error);
  }

  readonly #limits: StreamLimits;
  readonly #onEnd: (stream: NotificationStream) => void;
  readonly #waiting: PeerNotification[] = [];
  readonly #waiters: Waiter[] = [];
  #waitingBytes = 0;
  #isOver = false;
  #error: Error | undefined;

  /** @internal */
  constructor(limits: StreamLimits, onEnd: (stream: NotificationStream) => void) {
    this.#limits = limits;
    this.#onEnd = onEnd;
  }

  #push(notification: PeerNotification): void {
    if (this.#isOver) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: notification });
      return;
    }
    this.#waiting.push(notification);
    this.#waitingBytes += notification.bytes.length;
    const { countMax, bytesMax } = this.#limits;
    if (this.#waiting.length <= countMax && this.#waitingBytes <= bytesMax) return;
    const limit = this.#waiting.length > countMax ? 'memory.streamMax' : 'memory.streamBytes';
    const text =
      `${this.#waiting.length} notifications (${this.#waitingBytes} bytes) wait to be taken, ` +
      `more than ${limit} allows; take them faster or use onNotification`;
    this.#end(new TcpxError('ERR_USAGE_STATE', text));
  }

  // What waits is still given out, then the end, or the error.
  #end(error?: Error): void {
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
  next(): Promise<IteratorResult<PeerNotification, undefined>> {
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
  return(): Promise<IteratorResult<PeerNotification, undefined>> {
    this.#waiting.length = 0;
    this.#end();
    return Promise.resolve(END);
  }

  /** The stream itself. */
  [Symbol.asyncIterator](): this {
    return this;
  }
}
