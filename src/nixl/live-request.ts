// A transfer request as its agent has it, and its states:
//   NOT_POSTED ──post──► IN_PROG ──► SUCCESS or an error; post again from any state but IN_PROG.
// A request remembers which generation of its peer it was made for and runs against no other.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { MetaDlist, XferCost, XferHandle } from './backend.js';
import type { OpenBackend } from './backend-set.js';
import type { XferOp } from './memory-type.js';
import type { PeerRef } from './remote-peer.js';
import { NixlStatus } from './status.js';
import type { XferTelemetry } from './telemetry.js';

export interface XferParts {
  readonly op: XferOp;
  readonly backend: OpenBackend;
  readonly peer: PeerRef;
  readonly local: MetaDlist;
  readonly remote: MetaDlist;
}

export class LiveRequest {
  /** Write or read. */
  readonly op: XferOp;
  /** The backend that moves it. */
  readonly backend: OpenBackend;
  /** The peer, as it was known when the request was made. */
  readonly peer: PeerRef;
  /** Ranges that it moves. */
  readonly descCount: number;
  /** Bytes that it moves. */
  readonly totalBytes: number;
  /** What the backend made of it. */
  readonly handle: XferHandle;
  /** How far the last post is. */
  status: NixlStatus = NixlStatus.ERR_NOT_POSTED;
  /** The message of this and later posts; undefined means none. */
  notif: Uint8Array | undefined;
  /** Why the last post failed. */
  error: TcpxError | undefined;
  /** Set while an abort or a missed deadline waits for the backend's confirmation. */
  cancelReason: TcpxError | undefined;
  /** Absolute, on the agent's clock; infinite when there is none. */
  deadlineAtUs = Number.POSITIVE_INFINITY;
  /** Undoes the abort listener and the timer of the running post. */
  disarm: (() => void) | undefined;
  /** Whether it was given back. */
  isReleased = false;
  /** The backend's handle is gone: released, or aborted by a backend that aborts by releasing. */
  isHandleFreed = false;
  /** A release was refused: the transfer may still run, whatever `status` says. */
  isAborting = false;
  /** Its deadline has passed, which its owner knows; its memory may still be in use. */
  isDraining = false;
  /** When it was posted last, in µs. */
  startTimeUs = 0;
  /** How long posting took, in µs. */
  postDurationUs = 0;
  /** How long the transfer took, in µs. */
  xferDurationUs = 0;

  constructor(parts: XferParts, notif: Uint8Array | undefined, customParam: string | undefined) {
    this.op = parts.op;
    this.backend = parts.backend;
    this.peer = parts.peer;
    this.descCount = parts.local.count;
    this.totalBytes = parts.local.lens.reduce((sum, len) => sum + len, 0);
    this.notif = notif;
    this.handle = prepare(parts, customParam);
  }

  /** Times and sizes of the last post. */
  get telemetry(): XferTelemetry {
    const { startTimeUs, postDurationUs, xferDurationUs, totalBytes, descCount } = this;
    return { startTimeUs, postDurationUs, xferDurationUs, totalBytes, descCount };
  }

  /** How long it will take, as its backend reckons. */
  estimateCost(): XferCost {
    this.checkUsable('estimateXferCost');
    if (!this.peer.isLive) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', `estimateXferCost: ${this.peer.name} is gone`);
    }
    const cost = this.backend.backend.estimateXferCost?.(this.handle);
    if (cost !== undefined) return cost;
    const { type } = this.backend;
    throw new TcpxError('ERR_USAGE_NOT_SUPPORTED', `estimateXferCost: ${type} makes no estimates`);
  }

  /** Refuses requests that were given back; everything else is a matter of status. */
  checkUsable(attempted: string): void {
    if (!this.isReleased) return;
    throw new TcpxError('ERR_USAGE_ARGUMENT', `${attempted}: the request was released`);
  }
}

function prepare(parts: XferParts, customParam: string | undefined): XferHandle {
  const { op, local, remote, backend } = parts;
  const agent = parts.peer.name;
  const custom = customParam === undefined ? {} : { customParam };
  try {
    return backend.backend.prepXfer({ op, local, remote, agent, ...custom });
  } catch (error) {
    throw toTcpxError(error, 'ERR_CAP_BACKEND', `prepare a transfer with ${agent}`);
  }
}
