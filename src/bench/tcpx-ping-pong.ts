// Ping-pong over the tcpx provider: each side writes into the other's memory with a mark as its
// notification, which is delivered after the data has landed. Marks come through the event loop:
// the plugin's processes do the rest.

import { TcpxError } from '../base/errors.js';
import type { Block, Region, RegionDescriptor } from '../engine/internal.js';
import type { TcpxReceipt } from '../engine/tcpx/tcpx-receipt.js';
import type { TcpxPeerSession } from '../engine/tcpx/tcpx-session.js';
import { isMark, MARK } from './ping-pong.js';

/** Hears marks, one at a time. */
export class MarkListener {
  #resolve: (() => void) | undefined;
  #reject: ((error: TcpxError) => void) | undefined;
  #failure: TcpxError | undefined;

  /** False: it is none. */
  take(bytes: Uint8Array): boolean {
    if (!isMark(bytes)) return false;
    this.#resolve?.();
    return true;
  }

  fail(error: TcpxError): void {
    this.#failure ??= error;
    this.#reject?.(error);
  }

  next(): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) reject(this.#failure);
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }
}

export interface PingOptions {
  readonly session: TcpxPeerSession;
  readonly marks: MarkListener;
  /** From the own memory into the target's. */
  readonly block: Block;
  readonly count: number;
  readonly timeoutMs: number;
}

/** Plays `count` turns; half round trips in µs and the receipt of the last ping. */
export async function playTcpxPingPong(
  options: PingOptions,
): Promise<{ readonly halfTripsUs: number[]; readonly receipt: TcpxReceipt }> {
  const { session, marks, block, count, timeoutMs } = options;
  const timer = setTimeout(() => marks.fail(lateError(session.peer, timeoutMs)), timeoutMs);
  const halfTripsUs: number[] = [];
  const post = { notify: MARK, deadlineMs: timeoutMs };
  let receipt: TcpxReceipt | undefined;
  try {
    for (let turn = 0; turn < count; turn++) {
      const startMs = performance.now();
      const answered = marks.next();
      const ping = session.write([block], post);
      // A ping that fails is not answered.
      ping.done.catch((error: unknown) => marks.fail(error as TcpxError));
      await answered;
      halfTripsUs.push(((performance.now() - startMs) * 1000) / 2);
      if (turn === count - 1) receipt = await ping.done;
    }
  } finally {
    clearTimeout(timer);
  }
  if (receipt === undefined) throw new TcpxError('ERR_USAGE_ARGUMENT', 'pingpong of no turns');
  return { halfTripsUs, receipt };
}

/** The target's part: what a ping has brought goes back. */
export class Ponger {
  readonly #session: TcpxPeerSession;
  readonly #block: Block;
  readonly #onFailure: (error: unknown) => void;

  constructor(
    session: TcpxPeerSession,
    own: Region,
    remote: RegionDescriptor,
    bytes: number,
    onFailure: (error: unknown) => void,
  ) {
    this.#session = session;
    this.#block = { local: own, localOffset: 0, remote, remoteOffset: 0, bytes };
    this.#onFailure = onFailure;
  }

  pong(): void {
    this.#session.write([this.#block], { notify: MARK }).done.catch(this.#onFailure);
  }
}

function lateError(peer: string, timeoutMs: number): TcpxError {
  return new TcpxError('ERR_PEER_TIMEOUT', `pingpong with ${peer}: not over in ${timeoutMs} ms`);
}
