// What the providers' suite needs from a harness, and the steps that its rows are made of. Ends,
// sessions and transfers are real ones; the harness says what carries their bytes, what memory that
// takes, how time passes and how a channel is lost.

import assert from 'node:assert/strict';
import { isTcpxError, type TcpxError } from '../../src/base/errors.js';
import type { Session } from '../../src/engine/session.js';
import type {
  Region,
  RegionDescriptor,
  RegionRights,
  RegionSource,
} from '../../src/memory/region.js';
import type { Capability } from '../../src/provider/contract.js';
import type { ProviderName, Receipt, TransferPath } from '../../src/provider/receipt.js';

/** An engine, or what stands for one. */
export interface ContractEnd {
  register(source: RegionSource, grant?: Grant): Region;
  deregister(region: Region, waitMs?: number): Promise<void>;
  poll(): void;
}

/** Registered memory, filled and checked where it lies. */
export interface Place {
  readonly end: ContractEnd;
  readonly region: Region;
  readonly bytes: number;
  fill(seed: number): void;
  /** Bytes that differ from the pattern. */
  mismatches(seed: number): number;
  /** Deregistered and freed. */
  release(): Promise<void>;
}

export interface Grant {
  readonly rights?: RegionRights;
  readonly expiresMs?: number;
}

export interface Link {
  readonly session: Session;
  readonly targetSession: Session;
}

export interface ProviderPair extends Link {
  readonly initiator: ContractEnd;
  readonly target: ContractEnd;
  /** What the target was told. */
  readonly notifications: string[];
  /** Memory of the kind that this provider moves. */
  place(end: ContractEnd, bytes: number, grant?: Grant): Place;
  /** Host memory that comes from nowhere in particular. */
  plain(end: ContractEnd, bytes: number): Place;
  /** Another session between the two. */
  connect(): Promise<Link>;
  /** Awaits with both ends moving. */
  drive<T>(promise: Promise<T>): Promise<T>;
  pause(ms: number): Promise<void>;
  /** PLAN frames that the initiator has sent; addressed channels have none. */
  planFrames(): number;
  /** One of the connections that carry data is lost. */
  breakChannel(): void;
  close(): Promise<void>;
}

/** `slow`: `slowBytes` are in flight for a while. `few`: `transfersMax` entries, no more. */
export type Shape = 'usual' | 'slow' | 'few';

/** An engine whose peer is another process. */
export interface FarPeer {
  readonly session: Session;
  readonly descriptor: RegionDescriptor;
  place(bytes: number): Place;
  close(): Promise<void>;
}

export interface ProviderHarness {
  readonly name: string;
  readonly capability: Capability;
  readonly provider: ProviderName;
  readonly path: TransferPath;
  /** What becomes of a transfer whose channel is lost. */
  readonly onLostChannel: 'another takes over' | 'typed error';
  /** Of several blocks. */
  readonly sizes: readonly number[];
  readonly slowBytes: number;
  readonly transfersMax: number;
  open(shape: Shape): Promise<ProviderPair>;
  /** Undefined where time is virtual: nobody can block on it. */
  readonly openFar: ((bytes: number) => Promise<FarPeer>) | undefined;
  close(): Promise<void>;
}

export type Row = (
  name: string,
  body: (harness: ProviderHarness, open: (shape: Shape) => Promise<ProviderPair>) => Promise<void>,
) => void;

/** The whole of two places, as so many blocks that the far side has in the opposite order. */
export function blocksOf(local: Place, remote: Place, count = 1) {
  const bytes = Math.floor(local.bytes / count);
  return Array.from({ length: count }, (_, index) => {
    const rest = index === count - 1 ? local.bytes - bytes * count : 0;
    return {
      local: local.region,
      localOffset: index * bytes,
      remote: remote.region.descriptor,
      remoteOffset: index * bytes,
      bytes: bytes + rest,
    };
  }).toReversed();
}

export interface Places {
  readonly local: Place;
  readonly remote: Place;
}

/** Two places of one length; released when the body has ended. */
export async function withPlaces<T>(
  pair: ProviderPair,
  bytes: number,
  body: (places: Places) => Promise<T>,
): Promise<T> {
  const local = pair.place(pair.initiator, bytes);
  const remote = pair.place(pair.target, bytes);
  const result = await body({ local, remote });
  await pair.drive(local.release());
  await pair.drive(remote.release());
  return result;
}

/** Written there and read back, every byte checked at both ends. */
export async function moveBoth(
  pair: ProviderPair,
  { local, remote }: Places,
  seed: number,
  count = 1,
  session = pair.session,
): Promise<readonly [Receipt, Receipt]> {
  const blocks = blocksOf(local, remote, count);
  local.fill(seed);
  remote.fill(seed + 100);
  const written = await pair.drive(session.write(blocks).done);
  assert.equal(remote.mismatches(seed), 0, `${local.bytes} bytes written`);
  assert.equal(local.mismatches(seed), 0, 'the source is as it was');
  remote.fill(seed + 1);
  const read = await pair.drive(session.read(blocks).done);
  assert.equal(local.mismatches(seed + 1), 0, `${local.bytes} bytes read`);
  return [written, read];
}

export async function failure(promise: Promise<unknown>): Promise<TcpxError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return error;
  }
  return assert.fail('it did not fail');
}

const NOTIFY_MS = 10_000;

/** Waits until the target was told so many things. */
export async function told(pair: ProviderPair, count: number): Promise<string[]> {
  const endMs = performance.now() + NOTIFY_MS;
  while (pair.notifications.length < count) {
    assert.ok(performance.now() < endMs, `${pair.notifications.length} of ${count} came`);
    await pair.pause(1);
  }
  return pair.notifications.splice(0);
}
