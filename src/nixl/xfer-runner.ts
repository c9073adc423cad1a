// Runs requests: post, status, wait, abort, release. Post, status and release return numbers and
// never throw for what happens at run time; a status is a load and, while running, one check.

import { AbortError, onAbort, throwIfAborted, withSignal } from '../base/abort.js';
import { checkMessage, checkOptions, checkSignal, checkTime } from '../base/argument.js';
import type { Clock } from '../base/clock.js';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type ActivityBell, nextTurn } from './activity-bell.js';
import type { LiveRequest } from './live-request.js';
import { LoopWatch, STANDSTILL_MS_MAX } from './loop-watch.js';
import type { RemotePeers } from './remote-peers.js';
import { errorOfStatus, isNixlStatus, NixlStatus, nixlStatusOf } from './status.js';
import type { AgentTelemetry } from './telemetry.js';
import { notifBytes } from './xfer-factory.js';
import { XferRequest } from './xfer-request.js';

/** What a post may carry. */
export interface PostOptions {
  /** Message for the peer, delivered after the data. */
  readonly notif?: Uint8Array | string;
}

/** How long a transfer may take, and who may stop it. */
export interface XferControl {
  /** Cancels the transfer. */
  readonly signal?: AbortSignal;
  /** Time after which it fails, in ms. */
  readonly deadlineMs?: number;
}

const CONTROL = { signal: checkSignal, deadlineMs: checkTime };

export class XferRunner {
  readonly #clock: Clock;
  readonly #bell: ActivityBell;
  readonly #peers: RemotePeers;
  readonly #telemetry: AgentTelemetry;
  readonly #live = new Set<LiveRequest>();
  readonly #loop: LoopWatch;
  readonly #log: Log;

  constructor(
    clock: Clock,
    bell: ActivityBell,
    peers: RemotePeers,
    telemetry: AgentTelemetry,
    log: Log,
  ) {
    this.#log = log;
    this.#loop = new LoopWatch(clock);
    this.#clock = clock;
    this.#bell = bell;
    this.#peers = peers;
    this.#telemetry = telemetry;
  }

  adopt(request: LiveRequest): XferRequest {
    this.#live.add(request);
    return new XferRequest(request);
  }

  /**
   * Options absent: the last message is sent again. Options with a message: it replaces the last.
   * Options without one: no message, now and later.
   */
  post(request: LiveRequest, options?: PostOptions, control?: XferControl): NixlStatus {
    if (options !== undefined) checkOptions('postXferReq', options, { notif: checkMessage });
    if (control !== undefined) checkOptions('postXferReq', control, CONTROL);
    if (request.isHandleFreed) return NixlStatus.ERR_INVALID_PARAM;
    if (request.isAborting || isDraining(request)) {
      return this.#refuse(NixlStatus.ERR_REPOST_ACTIVE);
    }
    if (!request.peer.isLive) return this.#refuse(NixlStatus.ERR_NOT_FOUND);
    if (request.status === NixlStatus.IN_PROG) {
      const status = this.#check(request);
      if (status === NixlStatus.IN_PROG) return this.#refuse(NixlStatus.ERR_REPOST_ACTIVE);
      if (status === NixlStatus.ERR_REMOTE_DISCONNECT || isFreed(request)) return status;
    }
    if (options !== undefined) request.notif = notifBytes(options.notif);
    if (request.notif !== undefined && !request.backend.backend.supportsNotif) {
      return this.#refuse(NixlStatus.ERR_BACKEND);
    }
    return this.#start(request, control);
  }

  status(request: LiveRequest): NixlStatus {
    if (request.status !== NixlStatus.IN_PROG) return request.status;
    // Returned, not stored: the transfer itself has not ended.
    if (!request.peer.isLive) return NixlStatus.ERR_NOT_FOUND;
    if (request.deadlineAtUs !== Number.POSITIVE_INFINITY) this.#checkDeadline(request);
    if (hasEnded(request)) return request.status;
    const status = this.#check(request);
    if (status === NixlStatus.IN_PROG && this.#loop.isStandingStill()) this.#endStuck(request);
    return request.status;
  }

  /** Resolves when the transfer has landed; rejects with why it did not. */
  async wait(request: LiveRequest, control?: XferControl): Promise<void> {
    if (control !== undefined) checkOptions('waitXferReq', control, CONTROL);
    request.checkUsable('waitXferReq');
    if (request.status === NixlStatus.ERR_NOT_POSTED) {
      throw new TcpxError('ERR_USAGE_STATE', 'waitXferReq: the request was never posted');
    }
    const disarm = control === undefined ? undefined : this.#arm(request, control);
    try {
      for (;;) {
        const status = this.status(request);
        if (status === NixlStatus.SUCCESS) return;
        if (status !== NixlStatus.IN_PROG) throw request.error ?? failureOf(request, status);
        await this.#step(request);
      }
    } finally {
      disarm?.();
    }
  }

  /** SUCCESS: given back, and no byte moves any more. REPOST_ACTIVE: could not abort yet. */
  release(request: LiveRequest): NixlStatus {
    if (request.isReleased) return NixlStatus.ERR_INVALID_PARAM;
    if (request.status === NixlStatus.IN_PROG) this.#check(request);
    if (!request.isHandleFreed) {
      const status = callBackend(() => request.backend.backend.releaseReqH(request.handle));
      if (status !== NixlStatus.SUCCESS) {
        // Whatever it was, it runs on until the backend says otherwise: no post meanwhile.
        request.isAborting = true;
        request.status = status;
        return this.#refuse(NixlStatus.ERR_REPOST_ACTIVE);
      }
    }
    request.isHandleFreed = true;
    request.isReleased = true;
    request.disarm?.();
    if (request.status === NixlStatus.IN_PROG) request.status = NixlStatus.ERR_CANCELED;
    this.#live.delete(request);
    this.#bell.ring();
    return NixlStatus.SUCCESS;
  }

  /** Releases, waiting for the backend where it cannot abort at once. */
  async cancel(request: LiveRequest, signal?: AbortSignal): Promise<void> {
    throwIfAborted(signal, 'cancelXferReq');
    while (this.release(request) === NixlStatus.ERR_REPOST_ACTIVE) {
      await withSignal(this.#step(request), signal, 'cancelXferReq');
    }
  }

  async cancelAll(): Promise<void> {
    for (const request of [...this.#live]) await this.cancel(request);
  }

  #start(request: LiveRequest, control: XferControl | undefined): NixlStatus {
    request.disarm?.();
    request.error = undefined;
    request.cancelReason = undefined;
    if (control?.signal?.aborted === true) {
      request.cancelReason = abortError(request, control.signal);
      return this.#settle(request, NixlStatus.ERR_CANCELED);
    }
    const isTimed = this.#telemetry.isEnabled;
    if (isTimed) request.startTimeUs = this.#clock.nowUs();
    const { backend } = request.backend;
    const status = callBackend(() => backend.postXfer(request.handle, request.notif));
    if (isTimed) this.#onPosted(request);
    request.status = NixlStatus.IN_PROG;
    if (status !== NixlStatus.IN_PROG) return this.#settle(request, status);
    if (control !== undefined) request.disarm = this.#arm(request, control);
    return status;
  }

  #check(request: LiveRequest): NixlStatus {
    const status = checkBackend(request);
    if (status !== NixlStatus.IN_PROG) return this.#settle(request, status);
    if (request.cancelReason !== undefined) this.#abort(request);
    return request.status;
  }

  #settle(request: LiveRequest, status: NixlStatus): NixlStatus {
    request.status = status;
    request.disarm?.();
    request.disarm = undefined;
    if (status === NixlStatus.SUCCESS) {
      this.#onCompleted(request);
      return status;
    }
    const isCanceled = status === NixlStatus.ERR_CANCELED;
    request.error =
      (isCanceled ? request.cancelReason : undefined) ??
      request.backend.backend.getXferError?.(request.handle) ??
      failureOf(request, status);
    this.#telemetry.onError(status);
    if (status === NixlStatus.ERR_REMOTE_DISCONNECT) this.#peers.evictLost(request.peer);
    return status;
  }

  #arm(request: LiveRequest, control: XferControl): () => void {
    const { signal, deadlineMs } = control;
    const stop = () => {
      if (signal !== undefined) this.#stop(request, abortError(request, signal));
    };
    const release = onAbort(signal, stop);
    if (signal?.aborted === true) stop();
    let stopTimer: () => void = () => undefined;
    if (deadlineMs !== undefined) {
      request.deadlineAtUs = this.#clock.nowUs() + deadlineMs * 1000;
      stopTimer = afterMs(deadlineMs, () => this.#giveUp(request, deadlineError(request)));
    }
    return () => {
      release();
      stopTimer();
      request.deadlineAtUs = Number.POSITIVE_INFINITY;
    };
  }

  /** Also for programs that poll without ever returning to the event loop, where timers sleep. */
  #checkDeadline(request: LiveRequest): void {
    if (this.#clock.nowUs() >= request.deadlineAtUs) this.#giveUp(request, deadlineError(request));
  }

  // Whoever waits is told, whatever the peer does; release says when no byte moves any more.
  #giveUp(request: LiveRequest, reason: TcpxError): void {
    if (this.#check(request) !== NixlStatus.IN_PROG) return;
    this.#stop(request, reason);
    if (request.status !== NixlStatus.IN_PROG) return;
    request.isDraining = true;
    this.#settle(request, NixlStatus.ERR_CANCELED);
  }

  // A loop over the status that never returns to the event loop would not end.
  #endStuck(request: LiveRequest): void {
    const need = request.backend.backend.eventLoopNeed?.(request.handle);
    if (need === undefined) return;
    const reason = standstillError(request, need);
    this.#log.warn('transfer given up', { agent: request.peer.name, reason: reason.message });
    this.#giveUp(request, reason);
  }

  #stop(request: LiveRequest, reason: TcpxError): void {
    if (request.status !== NixlStatus.IN_PROG || request.cancelReason !== undefined) return;
    request.cancelReason = reason;
    const { backend } = request.backend;
    if (backend.cancelXfer === undefined) this.#abort(request);
    else backend.cancelXfer(request.handle);
    this.#bell.ring();
  }

  /** For backends that can only abort by releasing: the request then ends for good. */
  #abort(request: LiveRequest): void {
    const { backend } = request.backend;
    if (backend.cancelXfer !== undefined) return;
    if (callBackend(() => backend.releaseReqH(request.handle)) !== NixlStatus.SUCCESS) return;
    request.isHandleFreed = true;
    this.#settle(request, NixlStatus.ERR_CANCELED);
  }

  #step(request: LiveRequest): Promise<void> {
    const canRing = request.backend.backend.onActivity !== undefined;
    return canRing && request.status === NixlStatus.IN_PROG ? this.#bell.next() : nextTurn();
  }

  #refuse(status: NixlStatus): NixlStatus {
    this.#telemetry.onError(status);
    return status;
  }

  #onPosted(request: LiveRequest): void {
    request.postDurationUs = this.#clock.nowUs() - request.startTimeUs;
    this.#telemetry.onPosted(request.postDurationUs);
  }

  #onCompleted(request: LiveRequest): void {
    if (!this.#telemetry.isEnabled) return;
    request.xferDurationUs = this.#clock.nowUs() - request.startTimeUs;
    this.#telemetry.onCompleted(request.op, request.totalBytes, request.xferDurationUs);
  }
}

/** A check may have ended it for good; asked through a call because checks change requests. */
function isFreed(request: LiveRequest): boolean {
  return request.isHandleFreed;
}

function hasEnded(request: LiveRequest): boolean {
  return request.status !== NixlStatus.IN_PROG;
}

/** Given up at its deadline, and not ended at the backend yet. */
function isDraining(request: LiveRequest): boolean {
  if (request.isDraining) request.isDraining = checkBackend(request) === NixlStatus.IN_PROG;
  return request.isDraining;
}

/** The polling path: no closure, so that a poll allocates nothing. */
function checkBackend(request: LiveRequest): NixlStatus {
  try {
    const status = request.backend.backend.checkXfer(request.handle);
    return isNixlStatus(status) ? status : NixlStatus.ERR_UNKNOWN;
  } catch (error) {
    return nixlStatusOf(error);
  }
}

/** Third-party code must neither throw into a poll loop nor invent numbers. */
function callBackend(call: () => number): NixlStatus {
  try {
    const status = call();
    return isNixlStatus(status) ? status : NixlStatus.ERR_UNKNOWN;
  } catch (error) {
    return nixlStatusOf(error);
  }
}

function failureOf(request: LiveRequest, status: NixlStatus): TcpxError {
  return errorOfStatus(status, `transfer with ${request.peer.name}`, { agent: request.peer.name });
}

function abortError(request: LiveRequest, signal: AbortSignal): TcpxError {
  const what = `transfer with ${request.peer.name}: aborted by its signal`;
  return new AbortError(what, signal, 'ERR_XFER_CANCELLED');
}

function deadlineError(request: LiveRequest): TcpxError {
  return new TcpxError(
    'ERR_XFER_DEADLINE',
    `transfer with ${request.peer.name}: not finished by its deadline`,
  );
}

function standstillError({ peer }: LiveRequest, need: string): TcpxError {
  const name = JSON.stringify(peer.name).replaceAll('"', "'");
  return new TcpxError(
    'ERR_USAGE_STATE',
    `transfer with ${peer.name}: polled for ${STANDSTILL_MS_MAX} ms without a turn of the event ` +
      `loop, and ${need}: await agent.makeConnection(${name}) before, or agent.waitXferReq`,
  );
}
