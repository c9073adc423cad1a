// One request of the TCPX backend: prepared on the peer's session, posted as an engine transfer.
// Posting and looking allocate no more than the engine itself does.

import { assert } from '../base/assert.js';
import { isTcpxError, type TcpxError, toTcpxError } from '../base/errors.js';
import type { Engine } from '../engine/engine.js';
import type { BlockColumns, Receipt } from '../engine/internal.js';
import type { Session, TransferRequest } from '../engine/session.js';
import { factsOf, type Transfer } from '../engine/transfer.js';
import { fitsOne, sealParts, sealWhole } from './notif-envelope.js';
import { NixlStatus, nixlStatusOf } from './status.js';
import { isGone, type PeerWaiter, type TcpxPeer } from './tcpx-peer.js';

const NO_OPTIONS = {};

export class TcpxXfer implements PeerWaiter {
  readonly peer: TcpxPeer;
  readonly totalBytes: number;
  readonly #engine: Engine;
  readonly #operation: 'write' | 'read';
  readonly #columns: BlockColumns;
  #request: TransferRequest | undefined;
  #transfer: Transfer | undefined;
  #status: NixlStatus = NixlStatus.ERR_NOT_POSTED;
  /** Posted, but the connection or room for it is not there yet. */
  #isWaiting = false;
  #notif: Uint8Array | undefined;
  /** Parts of a message too long to travel with the transfer; sent one by one after it. */
  #tail: Uint8Array[] | undefined;
  #error: TcpxError | undefined;
  #deadlineMs = 0;
  /** The transfer of data of this post, once it has ended, for its receipt. */
  #ended: Transfer | undefined;

  constructor(
    engine: Engine,
    peer: TcpxPeer,
    operation: 'write' | 'read',
    columns: BlockColumns,
    totalBytes: number,
  ) {
    this.#engine = engine;
    this.peer = peer;
    this.#operation = operation;
    this.#columns = columns;
    this.totalBytes = totalBytes;
    const session = peer.readySession();
    if (session !== undefined && columns.count > 0) this.#prepare(session);
  }

  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** Of the last post; undefined before it has ended, and where nothing was sent. */
  get receipt(): Receipt | undefined {
    return this.#ended?.receipt();
  }

  /** `deadlineMs` 0: none. */
  post(notif: Uint8Array | undefined, deadlineMs = 0): NixlStatus {
    this.#error = undefined;
    this.#ended = undefined;
    this.#deadlineMs = deadlineMs;
    this.#notif = notif;
    this.#tail = undefined;
    this.#status = NixlStatus.IN_PROG;
    this.#start();
    return this.#status;
  }

  check(): NixlStatus {
    if (this.#status !== NixlStatus.IN_PROG) return this.#status;
    if (this.#isWaiting) {
      // Whoever hears of what has ended may let this transfer proceed: it is posted once.
      this.#engine.poll();
      this.proceed();
    } else {
      this.#transfer?.poll();
      this.#look();
    }
    return this.#status;
  }

  /** As `check`, for who has polled the engine and let the peer proceed. */
  peek(): NixlStatus {
    if (this.#status === NixlStatus.IN_PROG && !this.#isWaiting) this.#look();
    return this.#status;
  }

  /** Ends by itself once no byte moves any more; see check. */
  cancel(): void {
    if (this.#status !== NixlStatus.IN_PROG) return;
    if (this.#isWaiting) {
      this.#isWaiting = false;
      this.peer.forget(this);
      this.#status = NixlStatus.ERR_CANCELED;
    } else if (this.#tail === undefined) {
      this.#transfer?.cancel();
    }
  }

  /** True when freed: nothing of it is in flight. */
  release(): boolean {
    this.cancel();
    if (this.check() === NixlStatus.IN_PROG) return false;
    this.#request?.release();
    this.#request = undefined;
    return true;
  }

  proceed(): void {
    if (this.#isWaiting) this.#start();
  }

  /** Connections, and channels of a plugin, are made by the event loop. */
  eventLoopNeed(): string | undefined {
    if (this.#isWaiting) {
      return this.peer.readySession() === undefined ? 'its connection is not made yet' : undefined;
    }
    try {
      // Blocking is refused where nothing could end it.
      this.#transfer?.wait(1);
      return undefined;
    } catch (error) {
      if (!isTcpxError(error, 'ERR_USAGE_STATE')) throw error;
      return 'the channels of its plugin are being set up or taken down';
    }
  }

  #start(): void {
    if (this.#isWaiting) this.peer.forget(this);
    this.#isWaiting = false;
    const session = this.peer.readySession();
    if (session === undefined || !this.#engine.hasRoom) {
      const failure = this.peer.failure();
      if (failure !== undefined) {
        this.#fail(failure);
        return;
      }
      this.#isWaiting = true;
      this.peer.wait(this);
      return;
    }
    try {
      if (this.#columns.count === 0) {
        this.#postNothing(session);
        return;
      }
      const request = this.#request?.session === session ? this.#request : this.#prepare(session);
      this.#transfer = request.post(this.#options());
    } catch (error) {
      this.#fail(toTcpxError(error, 'ERR_XFER_FAILED', `post to ${this.peer.agent}`));
      return;
    }
    this.#look();
  }

  // Pieces of no bytes alone: the message is all there is.
  #postNothing(session: Session): void {
    const notif = this.#notif;
    if (notif === undefined) {
      this.#status = NixlStatus.SUCCESS;
      return;
    }
    const [part, ...rest] = fitsOne(notif) ? [sealWhole(notif)] : this.#sealed(notif);
    assert(part !== undefined, 'a message has at least one part');
    this.#tail = rest;
    this.#transfer = session.notify(part);
  }

  #sealed(notif: Uint8Array): Uint8Array[] {
    return sealParts(notif, this.peer.nextMessageId(), false);
  }

  #options() {
    const notif = this.#notif;
    const limit = this.#deadlineMs === 0 ? NO_OPTIONS : { deadlineMs: this.#deadlineMs };
    if (notif === undefined) return limit;
    if (fitsOne(notif)) return { ...limit, notify: sealWhole(notif) };
    this.#tail = this.#sealed(notif);
    return limit;
  }

  #prepare(session: Session): TransferRequest {
    // A request belongs to its session: after a new connection it is prepared anew.
    this.#request?.release();
    this.#request = undefined;
    this.#request = session.prepare(this.#operation, this.#columns);
    return this.#request;
  }

  #look(): void {
    const transfer = this.#transfer;
    if (transfer === undefined) return;
    const status = transfer.status;
    if (status === 'active') return;
    const { operation, postedUs } = factsOf(transfer);
    if (operation !== 'notify') this.#ended = transfer;
    if (status === 'failed') {
      this.#fail(transfer.error);
      return;
    }
    if (operation !== 'notify') {
      this.peer.cost.observe(this.totalBytes, this.#engine.nowUs() - postedUs);
    }
    if (this.#tail === undefined || this.#tail.length === 0) {
      this.#status = NixlStatus.SUCCESS;
      this.#transfer = undefined;
      return;
    }
    this.#sendTail(this.#tail);
  }

  // The data has landed; success waits until the message has too.
  #sendTail(parts: Uint8Array[]): void {
    const session = this.peer.readySession();
    if (session === undefined) {
      this.#fail(this.peer.failure());
      return;
    }
    const [part] = parts;
    if (part === undefined || !this.#engine.hasRoom) return;
    parts.shift();
    this.#transfer = session.notify(part);
  }

  #fail(error: TcpxError | undefined): void {
    this.#error = error;
    this.#transfer = undefined;
    this.#status = statusOfFailure(error);
  }
}

/** REMOTE_DISCONNECT for a peer that is gone, and for nothing else: it evicts the peer. */
function statusOfFailure(error: TcpxError | undefined): NixlStatus {
  if (error === undefined) return NixlStatus.ERR_BACKEND;
  if (isGone(error) || isGone(error.cause)) return NixlStatus.ERR_REMOTE_DISCONNECT;
  // A session that was closed here ends its transfers: that is no loss of the peer.
  const isEndedHere =
    error.code === 'ERR_XFER_FAILED' && isTcpxError(error.cause, 'ERR_USAGE_STATE');
  return isEndedHere ? NixlStatus.ERR_CANCELED : nixlStatusOf(error);
}
