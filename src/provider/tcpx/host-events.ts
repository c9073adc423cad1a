// Events from a plugin host, drained when its byte comes through the pipe.

import { TcpxError } from '../../base/errors.js';
import type { ChannelSlot, FlightNumber, Tag } from '../../base/quantity.js';
import type { ThreadPlacement } from './helper-threads.js';
import {
  PART_CHANNEL,
  PART_DIRECTION,
  PART_DURATION_US,
  PART_LAST_TAG,
  PART_TRANSFER,
  RECORD_TEXT,
  WORD_APP_SLEEPS,
} from './host-layout.js';
import { type HostLink, peekRecord, recordKind, releaseRecord, textAt } from './host-link.js';
import type { HostEvent, HostFacts, HostFailure, PageCount } from './host-message.js';

export interface FinishedPart {
  readonly channel: ChannelSlot;
  readonly direction: number;
  readonly transfer: FlightNumber;
  readonly lastTag: Tag;
  readonly durationUs: number;
}

export interface HostListener {
  onPart(part: FinishedPart): void;
  onBroken(channel: ChannelSlot, direction: number, error: TcpxError): void;
  onFallback(channel: ChannelSlot, reason: string): void;
  onUnknownExtent(channel: ChannelSlot): void;
}

interface Answer {
  readonly handle?: string;
  readonly pages?: PageCount;
}

interface Waiter {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: TcpxError) => void;
  /** Told at once, where a promise would wait for the event loop. */
  readonly onSettled: ((error: TcpxError | undefined) => void) | undefined;
}

export class HostEvents {
  readonly started: Promise<HostFacts>;
  readonly #link: HostLink;
  readonly #listener: HostListener;
  readonly #waiters = new Map<number, Waiter>();
  /** Of the plugin's helper threads, as the host saw them last. */
  placement: ThreadPlacement | undefined;
  /** Why the plugin's words are lost; empty when they are not. */
  logSilence = '';
  /** By channel: why it sends from its ring although regions were to be registered. */
  readonly fallbacks = new Map<number, string>();
  #nextId = 1;
  #isClosed = false;
  #resolveStarted: (facts: HostFacts) => void = () => undefined;
  #rejectStarted: (error: TcpxError) => void = () => undefined;

  constructor(link: HostLink, listener: HostListener) {
    this.#link = link;
    this.#listener = listener;
    this.started = new Promise((resolve, reject) => {
      this.#resolveStarted = resolve;
      this.#rejectStarted = reject;
    });
    this.started.catch(() => undefined);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  expect(onSettled?: (error: TcpxError | undefined) => void): {
    readonly id: number;
    readonly answer: Promise<Answer>;
  } {
    const id = this.#nextId++;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#waiters.set(id, { resolve, reject, onSettled });
    });
    return { id, answer };
  }

  /** Takes everything that is there, then asks to be woken for more. How much there was. */
  drain(): number {
    if (this.#isClosed) return 0;
    const { events, memory } = this.#link;
    let count = 0;
    do {
      Atomics.store(memory.int32, WORD_APP_SLEEPS, 0);
      for (let at = peekRecord(events); at >= 0; at = peekRecord(events)) {
        const tell = this.#read(at);
        releaseRecord(events, at);
        count++;
        tell();
        // Whoever was told may have ended the host: the memory is gone then.
        if (this.isClosed) return count;
      }
      Atomics.store(memory.int32, WORD_APP_SLEEPS, 1);
    } while (peekRecord(events) >= 0);
    return count;
  }

  fail(error: TcpxError): void {
    this.#isClosed = true;
    this.#rejectStarted(error);
    for (const waiter of this.#waiters.values()) refuse(waiter, error);
    this.#waiters.clear();
  }

  #read(at: number): () => void {
    const { events, memory } = this.#link;
    if (recordKind(events, at) === RECORD_TEXT) {
      // checked: written by plugin-host-loop.ts, of the same build
      const event = JSON.parse(textAt(events, at)) as HostEvent;
      return () => this.#onEvent(event);
    }
    const float64 = memory.float64;
    const field = (index: number): number => float64[at / 8 + index] ?? 0;
    const part = {
      channel: field(PART_CHANNEL),
      direction: field(PART_DIRECTION),
      transfer: field(PART_TRANSFER),
      lastTag: field(PART_LAST_TAG),
      durationUs: field(PART_DURATION_US),
    };
    return () => this.#listener.onPart(part);
  }

  #onEvent(event: HostEvent): void {
    switch (event.kind) {
      case 'started':
        this.#resolveStarted(event.facts);
        return;
      case 'answer':
        this.#answer(event.id, event);
        return;
      case 'refused':
        if (event.id === 0) this.#rejectStarted(toError(event.failure));
        refuse(this.#takeWaiter(event.id), toError(event.failure));
        return;
      case 'silent':
        this.logSilence = event.reason;
        return;
      case 'unknown-extent':
        this.#listener.onUnknownExtent(event.channel);
        return;
      case 'fallback':
        this.fallbacks.set(event.channel, event.reason);
        this.#listener.onFallback(event.channel, event.reason);
        return;
      case 'threads':
        this.placement = event.placement;
        return;
      case 'broken':
        this.#listener.onBroken(event.channel, event.direction, toError(event.failure));
    }
  }

  #answer(id: number, answer: Answer): void {
    const waiter = this.#takeWaiter(id);
    waiter?.resolve(answer);
    waiter?.onSettled?.(undefined);
  }

  #takeWaiter(id: number): Waiter | undefined {
    const waiter = this.#waiters.get(id);
    this.#waiters.delete(id);
    return waiter;
  }
}

function refuse(waiter: Waiter | undefined, error: TcpxError): void {
  waiter?.reject(error);
  waiter?.onSettled?.(error);
}

function toError(failure: HostFailure): TcpxError {
  return new TcpxError(failure.code, failure.message, { facts: failure.facts });
}
