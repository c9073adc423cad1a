// One transfer of a tcpx session as its owner sees it.

import type { TcpxError } from '../../base/errors.js';
import type { TcpxReceipt } from './tcpx-receipt.js';

export type TransferStatus = 'active' | 'done' | 'failed';

export class TcpxTransfer {
  readonly id: number;
  readonly operation: 'write' | 'read';
  /** Resolves with the receipt when every byte has landed, rejects with a TcpxError. */
  readonly done: Promise<TcpxReceipt>;
  #status: TransferStatus = 'active';
  #error: TcpxError | undefined;
  #receipt: TcpxReceipt | undefined;
  #resolve: (receipt: TcpxReceipt) => void = () => undefined;
  #reject: (error: TcpxError) => void = () => undefined;

  constructor(id: number, operation: 'write' | 'read') {
    this.id = id;
    this.operation = operation;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.done.catch(() => undefined);
  }

  get status(): TransferStatus {
    return this.#status;
  }

  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** Only of a finished transfer. */
  get receipt(): TcpxReceipt | undefined {
    return this.#receipt;
  }

  /** Called by the session. */
  finish(receipt: TcpxReceipt): void {
    if (this.#status !== 'active') return;
    this.#status = 'done';
    this.#receipt = receipt;
    this.#resolve(receipt);
  }

  /** Called by the session. */
  fail(error: TcpxError): void {
    if (this.#status !== 'active') return;
    this.#status = 'failed';
    this.#error = error;
    this.#reject(error);
  }
}
