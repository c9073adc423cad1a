// A post of this end until it is settled, and what becomes of it.

import { floatAt, wordAt } from '../../base/assert.js';
import { ERROR_CODES, type ErrorCode, TcpxError } from '../../base/errors.js';
import type { TransferNumber } from '../../base/quantity.js';
import type { DataOperation, Outcome, PostExtra } from '../contract.js';
import type { DerivedPlan } from './described-plan.js';
import type { Epochs } from './epochs.js';
import type { Flight } from './flight.js';
import { RECEIVE, SEND } from './host-layout.js';
import { type Intake, unjudged } from './intake-watch.js';
import type { MatchedCarrierParts, MatchedHost } from './matched-host.js';
import type { MatchedRequest } from './matched-request.js';
import { pluginStanding } from './plugin-receipt.js';

/** Between two looks at the event of a source. */
const SOURCE_LOOK_MS = 1;

export class OwnPost {
  readonly transfer: TransferNumber;
  readonly operation: DataOperation;
  readonly request: MatchedRequest;
  readonly extra: PostExtra;
  /** In the engine's table; known from its submission on. */
  place = { slot: -1, generation: -1 };
  /** Of a READ that was asked for and not announced yet: what the owner will announce. */
  derived: DerivedPlan | undefined;
  /** Of a READ: what the NICs had taken in before. */
  intake: Intake | undefined;
  outcome: Outcome | undefined;
  /** Of a WRITE whose chunks are still with the plugin: what the peer said. */
  refusal: TcpxError | undefined;
  isCancelled = false;
  /** Its epoch is being taken down. */
  isFailing = false;
  isOver = false;

  constructor(
    transfer: TransferNumber,
    operation: DataOperation,
    request: MatchedRequest,
    extra: PostExtra,
  ) {
    this.transfer = transfer;
    this.operation = operation;
    this.request = request;
    this.extra = extra;
  }

  /** As a read whose announcement is awaited; undefined where none is. */
  asRead(): { request: MatchedRequest; derived: DerivedPlan } | undefined {
    const { request, derived } = this;
    return derived === undefined ? undefined : { request, derived };
  }

  /** The same, once: a second announcement would land in memory that may be free by then. */
  takeRead(): ReturnType<OwnPost['asRead']> {
    const read = this.asRead();
    this.derived = undefined;
    return read;
  }
}

/** Looks from the event loop: a transfer whose event never happens can be cancelled. */
export async function awaitSource(
  own: OwnPost,
  host: Pick<MatchedHost, 'hasHappened' | 'after'>,
): Promise<void> {
  const { source } = own.extra;
  while (source !== undefined && !own.isOver && !host.hasHappened(source)) {
    await new Promise<void>((resolve) => host.after(SOURCE_LOOK_MS, resolve));
  }
}

/** Of a READ, what has landed here by now; the target of a WRITE confirms the whole alone. */
export function confirmedSoFar(own: OwnPost, flight: Flight | undefined, epochs: Epochs): number {
  const ended = own.outcome?.channels.reduce((sum, { bytes }) => sum + bytes, 0);
  if (ended !== undefined) return ended;
  if (own.operation === 'write' || flight === undefined || epochs.state !== 'ready') return 0;
  return flight.landedBytes(epochs.set.counters(RECEIVE).map(({ consumed }) => consumed));
}

const NOTHING = { failure: 0, retries: 0, damaged: 0, damagedWhere: '', sessionError: undefined };

export function failed(error: TcpxError, isCancelled: boolean): Outcome {
  return { ...NOTHING, error, isCancelled, channels: [] };
}

export function succeeded(
  own: OwnPost,
  flight: Flight,
  parts: MatchedCarrierParts,
  epochs: Epochs,
): Outcome {
  const { plan } = flight.derived;
  const { set } = epochs;
  const { values, host } = parts;
  const plugin = parts.ownPlugin();
  const peerPlugin = epochs.peerPlugin ?? plugin;
  const unpack = `${values['tcpx.unpack']} (${parts.unpackedBy()})`;
  const isEmulated = plugin.isEmulated || peerPlugin.isEmulated;
  return {
    ...NOTHING,
    channels: set.nics.map((nic, channel) => ({
      channel,
      nic,
      bytes: floatAt(plan.channelBytes, channel),
      chunks: wordAt(plan.channelChunks, channel),
    })),
    plugin: {
      evidence: isEmulated ? 'emulated' : 'measured',
      memory: host.regions.ways(flight.places),
      unpack: values['tcpx.hostRecv'] ? 'none' : unpack,
      threads: set.placements(),
      counters: set.counters(flight.kind.role === 'send' ? SEND : RECEIVE),
      devmem: devmemOf(own, parts, set.nics),
      own: plugin,
      peer: peerPlugin,
      standing: pluginStanding(plugin, peerPlugin),
    },
  };
}

function devmemOf(own: OwnPost, { intake }: MatchedCarrierParts, nics: readonly string[]) {
  const here = [...new Set(nics)].map((nic) => ({ nic }));
  if (own.operation === 'write') return unjudged(here, 'received by the peer’s NICs');
  if (intake === undefined || own.intake === undefined) return unjudged(here, 'nobody counts here');
  return intake.judge(own.intake);
}

export function lostError(peer: string): TcpxError {
  return new TcpxError('ERR_XFER_FAILED', `${peer}: the session is gone`);
}

/** Names what a transfer waited for; without a flight, nothing of it was posted yet. */
export function givenUpError(
  peer: string,
  operation: DataOperation,
  flight: Flight | undefined,
  epochs: Epochs,
): TcpxError {
  const { state } = epochs;
  if (state !== 'ready') return new TcpxError('ERR_XFER_CANCELLED', `channels are ${state}`);
  const direction = operation === 'write' ? SEND : RECEIVE;
  const stall = epochs.set.describeStall(direction, flight?.openParts ?? new Set<number>());
  const waits = `${operation}: ${stall || 'waiting for the peer to confirm'}`;
  return new TcpxError('ERR_XFER_CANCELLED', `${peer}: ${waits}`);
}

/** What was announced here, or has landed there, is the plugin's for as long as chunks move. */
export function checkRefusable(
  own: OwnPost,
  flight: Flight | undefined,
  operation: DataOperation,
): void {
  const isOpen = own.operation === 'write' ? flight?.isLanded !== true : flight === undefined;
  if (own.operation === operation && isOpen) return;
  throw new TcpxError('ERR_WIRE_STATE', `${operation} ${own.transfer} cannot be refused`);
}

/** What a peer has refused for, by its own words. */
export function refusalOf({ code, reason }: { code: string; reason: string }): TcpxError {
  const known = code in ERROR_CODES ? (code as ErrorCode) : 'ERR_PEER_REFUSED';
  return new TcpxError(known, `refused: ${reason}`);
}
