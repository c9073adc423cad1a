// Channels that are being set up, and closes that wait for one. A set-up that has failed at one end
// may be under way at the other, where its thread uses memory that a close would free: it is polled
// on until it has ended, and a close waits for that a moment, so that the process need not end.

import { isTcpxError } from '../../../base/errors.js';
import type { HostChannel } from './host-channel.js';

const POLL_MS = 1;
/** What a close waits for a set-up under way. */
const SETTLE_MS = 500;

export interface JoinsOwner {
  /** Both directions are there. */
  onJoined(id: number): void;
  /** A join, or a close. */
  onRefused(id: number, what: string, error: unknown): void;
  /** Closes it for good; throws when it cannot be. */
  close(channel: HostChannel): void;
  onClosed(id: number): void;
}

export class ChannelJoins {
  readonly #owner: JoinsOwner;
  readonly #joins = new Map<HostChannel, number>();
  readonly #settling = new Set<HostChannel>();
  readonly #closes = new Map<HostChannel, { readonly id: number; readonly untilMs: number }>();
  #nextMs = 0;

  constructor(owner: JoinsOwner) {
    this.#owner = owner;
  }

  get isJoining(): boolean {
    return this.#joins.size > 0;
  }

  /** Something is to be polled. */
  get isActive(): boolean {
    return this.#joins.size + this.#settling.size + this.#closes.size > 0;
  }

  add(channel: HostChannel, id: number): void {
    this.#joins.set(channel, id);
  }

  close(channel: HostChannel, id: number): void {
    this.#joins.delete(channel);
    this.#closes.set(channel, { id, untilMs: performance.now() + SETTLE_MS });
    if (channel.isSettling) this.#settling.add(channel);
    else this.#pollCloses();
  }

  /** Whether anything moved. */
  poll(): boolean {
    const nowMs = performance.now();
    if (nowMs < this.#nextMs) return false;
    this.#nextMs = nowMs + POLL_MS;
    const hasJoined = this.#pollJoins();
    for (const channel of this.#settling) this.#settle(channel);
    return this.#pollCloses() || hasJoined;
  }

  #pollJoins(): boolean {
    let hasMoved = false;
    for (const [channel, id] of this.#joins) {
      try {
        if (!channel.pollJoin()) continue;
        this.#owner.onJoined(id);
      } catch (error) {
        channel.state = 'broken';
        this.#owner.onRefused(id, 'join', error);
        if (channel.isSettling) this.#settling.add(channel);
      }
      this.#joins.delete(channel);
      hasMoved = true;
    }
    return hasMoved;
  }

  // What ends with an error here has failed at its other end before: no news.
  #settle(channel: HostChannel): void {
    try {
      channel.pollJoin();
    } catch (error) {
      if (!isTcpxError(error)) throw error;
    }
    if (!channel.isSettling) this.#settling.delete(channel);
  }

  #pollCloses(): boolean {
    let hasMoved = false;
    for (const [channel, { id, untilMs }] of this.#closes) {
      if (channel.isSettling && performance.now() < untilMs) continue;
      this.#closes.delete(channel);
      this.#settling.delete(channel);
      hasMoved = true;
      try {
        this.#owner.close(channel);
        this.#owner.onClosed(id);
      } catch (error) {
        this.#owner.onRefused(id, 'close', error);
      }
    }
    return hasMoved;
  }
}
