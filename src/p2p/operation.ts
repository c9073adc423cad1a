// One posted send or receive as programs hold it. The two have different types: only a receive can
// be consumed.

import { inspect } from 'node:util';
import type { TcpxError } from '../base/errors.js';
import { formatBytes } from '../base/units.js';
import type { Receipt } from '../engine/internal.js';
import type { LiveOperation, OperationState } from './live-operation.js';

abstract class Operation {
  readonly #live: LiveOperation;

  /** @internal */
  constructor(live: LiveOperation) {
    this.#live = live;
  }

  /** Number of the memory. */
  get memId(): number {
    return this.#live.facts.memId;
  }

  /** First byte in it. */
  get offset(): number {
    return this.#live.facts.offset;
  }

  /** Length. */
  get bytes(): number {
    return this.#live.facts.bytes;
  }

  /** Must be the same at both ends. */
  get tag(): number {
    return this.#live.facts.tag;
  }

  /** How far it is. */
  get state(): OperationState {
    return this.#live.state;
  }

  /** Why it failed. */
  get error(): TcpxError | undefined {
    return this.#live.error;
  }

  /** Whether it is done or has failed. */
  get isSettled(): boolean {
    return this.#live.isSettled;
  }

  /** A line: what was posted, and how it stands. */
  [inspect.custom](): string {
    const { memId, offset, bytes, tag, state } = this;
    const what = `${formatBytes(bytes)} at ${offset} of memory ${memId}, tag ${tag}`;
    return `${this.constructor.name} { ${what}, ${state} }`;
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
  readonly #live: LiveOperation;

  /** @internal */
  constructor(live: LiveOperation) {
    super(live);
    this.#live = live;
  }

  /** How its bytes went, once they have landed. */
  get receipt(): Receipt | undefined {
    return this.#live.receipt;
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
}
