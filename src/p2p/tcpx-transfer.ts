// A group of posted sends and receives with one peer: the C++ TcpxTransfer. Memory is named by
// number and offset; sends and receives are counted apart; only receives can be consumed.

import { onAbort, throwIfAborted } from '../base/abort.js';
import {
  checkList,
  checkRecord,
  type TimedWait,
  timedWaitOf,
  wrongArgument,
} from '../base/argument.js';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Engine } from '../engine/engine.js';
import { LiveOperation, type OperationFacts } from './live-operation.js';
import type { MemoryTable } from './memory-table.js';
import { Receive, Send } from './operation.js';
import type { P2pPeer } from './p2p-peer.js';

/** How many operations there are, by state. */
export interface OperationCounts {
  /** All of them. */
  posted: number;
  /** Done. */
  completed: number;
  /** Failed. */
  failed: number;
}

/** The same of receives. */
export interface ReceiveCounts extends OperationCounts {
  /** Given back by the application. */
  consumed: number;
}

/** Several operations in columns of one length, as the C++ batches take them. */
export interface OperationBatch {
  /** Memory of each. */
  readonly memIds: readonly number[];
  /** First byte of each. */
  readonly offsets: readonly number[];
  /** Length of each. */
  readonly sizes: readonly number[];
  /** Tag of each. */
  readonly tags: readonly number[];
}

const TAG_MAX = 2 ** 32 - 1;

/**
 * A group of sends and receives with one peer, waited for together.
 * @example
 * const transfer = session.createTransfer('server');
 * transfer.postSend(memId, 0, 4096, 7);
 * await transfer.wait(5000);
 */
export class TcpxTransfer {
  /** Its sends by state. */
  readonly sends: OperationCounts = { posted: 0, completed: 0, failed: 0 };
  /** Its receives by state. */
  readonly receives: ReceiveCounts = { posted: 0, completed: 0, failed: 0, consumed: 0 };
  readonly #engine: Engine;
  readonly #memory: MemoryTable;
  readonly #peer: P2pPeer;
  /** Posted, and not consumed yet. */
  readonly #open = new Map<Receive, LiveOperation>();
  #error: TcpxError | undefined;
  #waiters: (() => void)[] = [];
  #isReleased = false;

  /** @internal */
  constructor(engine: Engine, memory: MemoryTable, peer: P2pPeer) {
    this.#engine = engine;
    this.#memory = memory;
    this.#peer = peer;
  }

  /** Sends a range; it matches the peer's receive of its turn. */
  postSend(memId: number, offset: number, bytes: number, tag: number): Send {
    this.#check('postSend', tag);
    const { region } = this.#memory.range(memId, offset, bytes, 'send');
    const send = new LiveOperation({ memId, offset, bytes, tag }, region, () => {
      this.#settle(this.sends, send.error);
    });
    this.#peer.postSend(send);
    this.sends.posted++;
    return new Send(send);
  }

  /** Receives into a range; it matches the peer's send of its turn. */
  postRecv(memId: number, offset: number, bytes: number, tag: number): Receive {
    const receive = this.#openReceive({ memId, offset, bytes, tag }, 'postRecv');
    try {
      this.#peer.postReceive(receive);
    } catch (error) {
      void this.#engine.deregister(receive.region);
      throw error;
    }
    return this.#keep(receive);
  }

  /** One send per column entry, in order; if one is bad, none is posted. */
  postSendBatch(batch: OperationBatch): Send[] {
    const operations = operationsOf(batch, 'postSendBatch');
    for (const { memId, offset, bytes, tag } of operations) {
      this.#check('postSendBatch', tag);
      this.#memory.range(memId, offset, bytes, 'send');
    }
    return operations.map(({ memId, offset, bytes, tag }) =>
      this.postSend(memId, offset, bytes, tag),
    );
  }

  /** One receive per column entry, in order; if one is bad, none is posted. */
  postRecvBatch(batch: OperationBatch): Receive[] {
    const receives: LiveOperation[] = [];
    try {
      for (const facts of operationsOf(batch, 'postRecvBatch')) {
        receives.push(this.#openReceive(facts, 'postRecvBatch'));
      }
      for (const receive of receives) this.#peer.postReceive(receive);
    } catch (error) {
      // Thrown before the first post: there is no slot left, or no connection.
      for (const { region } of receives) void this.#engine.deregister(region);
      throw error;
    }
    return receives.map((receive) => this.#keep(receive));
  }

  #keep(receive: LiveOperation): Receive {
    const kept = new Receive(receive);
    this.#open.set(kept, receive);
    this.receives.posted++;
    return kept;
  }

  /** The data of a completed receive was taken: its slot is free again. */
  async consume(receive: Receive): Promise<void> {
    const live = this.#open.get(receive);
    if (live === undefined) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'consume: not a receive of this transfer');
    }
    live.consume();
    this.#open.delete(receive);
    this.receives.consumed++;
    await this.#engine.deregister(live.region);
  }

  /** Looks once; where callers drive, this moves data. */
  isComplete(): boolean {
    this.#engine.poll();
    return this.#pending() === 0;
  }

  /**
   * Resolves when everything posted so far has ended well; rejects with the first failure, with
   * `ERR_XFER_DEADLINE` when the time is over, or with an `AbortError`. What is pending stays so.
   */
  async wait(options: number | TimedWait = {}): Promise<void> {
    const { timeoutMs = Number.POSITIVE_INFINITY, signal } = timedWaitOf('wait', options);
    const endUs = this.#engine.nowUs() + timeoutMs * 1000;
    const wake = (): void => this.#wake();
    // A little late rather than early: woken once, the time must be over.
    const stopTimer = afterMs(timeoutMs + 2, wake);
    const release = onAbort(signal, wake);
    try {
      while (this.#pending() > 0 && this.#engine.nowUs() < endUs) {
        throwIfAborted(signal, `wait with ${this.#peer.name}`);
        await this.#engine.drive(new Promise<void>((resolve) => this.#waiters.push(resolve)));
      }
    } finally {
      stopTimer();
      release();
    }
    if (this.#error !== undefined) throw this.#error;
    if (this.#pending() > 0) throw this.#late(timeoutMs);
  }

  /** Ends it: everything has ended, and every completed receive was consumed. */
  async release(): Promise<void> {
    if (this.#isReleased) return;
    if (this.#pending() > 0) {
      throw new TcpxError('ERR_USAGE_STATE', `release: ${this.#pending()} operations are pending`);
    }
    const unconsumed = this.receives.completed - this.receives.consumed;
    if (unconsumed > 0) {
      throw new TcpxError('ERR_USAGE_STATE', `release: ${unconsumed} receives were not consumed`);
    }
    this.#isReleased = true;
    for (const failed of this.#open.values()) await this.#engine.deregister(failed.region);
    this.#open.clear();
  }

  /** Its range becomes a region of its own, which the peer may write, for this receive alone. */
  #openReceive(facts: OperationFacts, attempted: string): LiveOperation {
    const { memId, offset, bytes, tag } = facts;
    this.#check(attempted, tag);
    const { region } = this.#memory.range(memId, offset, bytes, 'receive');
    const place = region.device === undefined ? {} : { device: region.device };
    const range = { addr: region.addr + offset, bytes, ...place };
    const slot = this.#engine.register(range, { read: false, write: true });
    const receive = new LiveOperation(facts, slot, () => {
      this.#settle(this.receives, receive.error);
    });
    return receive;
  }

  #pending(): number {
    const { sends, receives } = this;
    const ended = sends.completed + sends.failed + receives.completed + receives.failed;
    return sends.posted + receives.posted - ended;
  }

  #settle(counts: OperationCounts, error: TcpxError | undefined): void {
    if (error === undefined) counts.completed++;
    else counts.failed++;
    this.#error ??= error;
    this.#wake();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }

  #late(timeoutMs: number): TcpxError {
    const { sends, receives } = this;
    return new TcpxError(
      'ERR_XFER_DEADLINE',
      `wait with ${this.#peer.name}: after ${timeoutMs} ms ${sends.completed} of ${sends.posted} ` +
        `sends and ${receives.completed} of ${receives.posted} receives have ended`,
    );
  }

  #check(attempted: string, tag: number): void {
    if (this.#isReleased) {
      throw new TcpxError('ERR_USAGE_STATE', `${attempted}: the transfer was released`);
    }
    if (Number.isInteger(tag) && tag >= 0 && tag <= TAG_MAX) return;
    throw wrongArgument(`${attempted}: tag`, `a whole number, 0 … ${TAG_MAX}`, tag);
  }
}

function operationsOf(batch: OperationBatch, attempted: string): OperationFacts[] {
  checkRecord(`${attempted}: the batch`, batch);
  const { memIds, offsets, sizes, tags } = batch;
  for (const [name, column] of Object.entries({ memIds, offsets, sizes, tags })) {
    checkList(`${attempted}: ${name}`, column);
  }
  const lengths = [memIds.length, offsets.length, sizes.length, tags.length];
  if (lengths.some((length) => length !== memIds.length)) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${attempted}: columns of ${lengths.join(', ')} entries; they must be equally long`,
    );
  }
  return memIds.map((memId, index) => ({
    memId,
    offset: offsets[index] ?? -1,
    bytes: sizes[index] ?? -1,
    tag: tags[index] ?? -1,
  }));
}
