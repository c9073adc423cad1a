// A posted send or receive as its peer and its group have it. Programs hold a `Send` or `Receive`
// instead. A receive has a slot (a registration of its range) that its owner frees by consuming it;
// a send reads from memory that is registered already.
//
//   send:     waiting ──offer──► moving ──► done │ failed
//   receive:  waiting ──landed─► done ──consume──► consumed │ failed

import { TcpxError } from '../base/errors.js';
import type { Receipt } from '../engine/internal.js';
import type { Region } from '../memory/region.js';

/** `waiting` for its counterpart, `moving`, then `done` or `failed`; `consumed` after that. */
export type OperationState = 'waiting' | 'moving' | 'done' | 'failed' | 'consumed';

export interface OperationFacts {
  readonly memId: number;
  readonly offset: number;
  readonly bytes: number;
  /** Must be the same at both ends. */
  readonly tag: number;
}

export class LiveOperation {
  readonly facts: OperationFacts;
  /** Of a send, the memory that it reads; of a receive, its slot. */
  readonly region: Region;
  /** How the bytes of a send went. */
  receipt: Receipt | undefined;
  #state: OperationState = 'waiting';
  #error: TcpxError | undefined;
  readonly #onSettled: () => void;

  constructor(facts: OperationFacts, region: Region, onSettled: () => void) {
    this.facts = facts;
    this.region = region;
    this.#onSettled = onSettled;
  }

  get state(): OperationState {
    return this.#state;
  }

  get error(): TcpxError | undefined {
    return this.#error;
  }

  get isSettled(): boolean {
    return this.#state !== 'waiting' && this.#state !== 'moving';
  }

  begin(): void {
    this.#state = 'moving';
  }

  finish(): void {
    if (this.isSettled) return;
    this.#state = 'done';
    this.#onSettled();
  }

  fail(error: TcpxError): void {
    if (this.isSettled) return;
    this.#state = 'failed';
    this.#error = error;
    this.#onSettled();
  }

  consume(): void {
    if (this.#state !== 'done') {
      throw new TcpxError('ERR_USAGE_STATE', `consume: the receive is ${this.#state}, not done`);
    }
    this.#state = 'consumed';
  }
}
