// A request that was prepared, how it goes, and what is in flight of it.

import { inspect } from 'node:util';
import { TcpxError } from '../base/errors.js';
import { formatBytes, plural } from '../base/units.js';
import type { Region } from '../memory/region.js';
import type { CheckedBlocks } from '../provider/block-columns.js';
import type { Carrier, DataOperation, Posted, Prepared } from '../provider/contract.js';
import type { LiveSession } from './live-session.js';
import type { TransferRequest } from './session.js';
import type { Transfer } from './transfer.js';

export type AnyCarrier = Carrier<LiveSession, Prepared>;

/** How a request goes, decided once. */
export interface Route {
  readonly carrier: AnyCarrier;
  readonly provider: 'tcp' | 'tcpx';
  readonly reason: string;
}

/** A request that was prepared, and what is in flight of it. */
export interface PreparedRequest extends Route {
  readonly session: LiveSession;
  readonly operation: DataOperation;
  readonly blocks: CheckedBlocks;
  readonly prepared: Prepared;
  /** Posts whose memory is in use, and those of them that their owner waits for. */
  inFlight: number;
  awaited: number;
  isReleased: boolean;
  /** What it holds is given back; called once, when nothing of it is in flight. */
  free(): void;
}

/** A transfer that is posted, and what has to be undone when it finishes. */
export interface InFlight extends Posted<LiveSession> {
  readonly transfer: Transfer;
  readonly carrier: AnyCarrier;
  readonly locals: readonly Region[];
  /** Undefined for a message. */
  readonly request: PreparedRequest | undefined;
  /** Counts posts. */
  readonly serial: number;
  /** Steady time at which it was cancelled, or its deadline passed. */
  givenUpUs: number;
  isAwaited: boolean;
}

/** Nothing of it is posted any more. */
export function releaseRequest(request: PreparedRequest): void {
  if (request.isReleased) return;
  if (request.awaited > 0) {
    throw new TcpxError('ERR_USAGE_STATE', `release: ${request.awaited} transfers are in flight`);
  }
  request.isReleased = true;
  // Lanes may still look at it after a deadline: whoever settles the last post frees it.
  if (request.inFlight === 0) request.free();
}

/** Printed as a line, and as JSON without its blocks, which hold the keys of the peer's regions. */
export function printRequest(request: TransferRequest): TransferRequest {
  const { session, operation, blocks, chunkCount, path } = request;
  const { peer } = session;
  const { totalBytes: bytes, count } = blocks;
  const what = `${operation} of ${formatBytes(bytes)} in ${plural(count, 'block')}`;
  const json = { peer, operation, bytes, blocks: count, chunkCount, path };
  Object.defineProperty(request, inspect.custom, {
    value: () => `TransferRequest { ${what}, peer: ${peer} }`,
  });
  return Object.defineProperty(request, 'toJSON', { value: () => json });
}
