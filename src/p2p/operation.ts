// One posted send or receive. The two are tracked apart and have different types: a receive holds a
// slot (a registration of its range) that its owner frees by consuming it; a send holds nothing.
//
//   send:     waiting ──offer──► writing ──► done │ failed
//   receive:  posted  ──landed─► done ──consume──► consumed │ failed

import { TcpxError } from '../base/errors.js';
import type { Receipt } from '../engine/internal.js';
import type { Region } from '../memory/region.js';

/** `waiting` for its counterpart, `moving`, then `done` or `failed`; `consumed` after that. */
export type OperationState = 'waiting' | 'moving' | 'done' | 'failed' | 'consumed';

/** What was posted. */
export interface OperationFacts {
  /** Number of the memory. */
  readonly memId: number;
  /** First byte in it. */
  readonly offset: number;
  /** Length. */
  readonly bytes: number;
  /** Must be the same at both ends. */
  readonly tag: number;
}

abstract class Operation {
  /** What was posted. */
  readonly facts: OperationFacts;
  protected current: OperationState = 'waiting';
  #error: TcpxError | undefined;
  readonly #onSettled: () => void;

  /** @internal */
  constructor(facts: OperationFacts, onSettled: () => void) {
    this.facts = facts;
    this.#onSettled = onSettled;
  }

  /** How far it is. */
  get state(): OperationState {
    return this.current;
  }

  /** Why it failed. */
  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** Whether it is done or has failed. */
  get isSettled(): boolean {
    return this.current !== 'waiting' && this.current !== 'moving';
  }

  /**
   * Called by the peer.
   * @internal
   */
  finish(): void {
    if (this.isSettled) return;
    this.current = 'done';
    this.#onSettled();
  }

  /**
   * Called by the peer.
   * @internal
   */
  fail(error: TcpxError): void {
    if (this.isSettled) return;
    this.current = 'failed';
    this.#error = error;
    this.#onSettled();
  }
}

/**
 * A posted send.
 * @example
 * const send = transfer.postSend(memId, 0, 4096, 7);
 * await transfer.wait(5000);
 * console.log(send.receipt?.durationUs);
 */
export class Send extends Operation {
  /** Tells it from a receive. */
  readonly kind = 'send';
  /** Memory that it sends from. */
  readonly source: Region;
  #receipt: Receipt | undefined;

  /** @internal */
  constructor(facts: OperationFacts, source: Region, onSettled: () => void) {
    super(facts, onSettled);
    this.source = source;
  }

  /**
   * Called by the peer.
   * @internal
   */
  begin(): void {
    this.current = 'moving';
  }

  /** How its bytes went, once they have landed. */
  get receipt(): Receipt | undefined {
    return this.#receipt;
  }

  /**
   * Called by the peer.
   * @internal
   */
  land(receipt: Receipt): void {
    this.#receipt = receipt;
    this.finish();
  }
}

/**
 * A posted receive.
 * @example
 * const receive = transfer.postRecv(memId, 0, 4096, 7);
 * await transfer.wait(5000);
 * await transfer.consume(receive);
 */
export class Receive extends Operation {
  /** Tells it from a send. */
  readonly kind = 'receive';
  /** The range as the peer may write it: its own registration, for this receive alone. */
  readonly slot: Region;

  /** @internal */
  constructor(facts: OperationFacts, slot: Region, onSettled: () => void) {
    super(facts, onSettled);
    this.slot = slot;
  }

  /**
   * Called by the transfer.
   * @internal
   */
  setConsumed(): void {
    if (this.current === 'done') {
      this.current = 'consumed';
      return;
    }
    throw new TcpxError('ERR_USAGE_STATE', `consume: the receive is ${this.current}, not done`);
  }
}
