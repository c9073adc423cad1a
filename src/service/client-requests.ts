// Requests of a client: prepared over its socket, posted and cancelled through its ring, finished
// in its mapping.

import { at, floatAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import type { MemoryWay } from '../base/service-layout.js';
import { serviceStatus, serviceStatusOf } from '../base/service-status.js';
import type { BlockColumns } from '../engine/internal.js';
import type { Region, RegionDescriptor } from '../memory/region.js';
import { NixlStatus } from '../nixl/status.js';
import type { ClientEngine, ServiceTransfer } from './client-engine.js';
import type { ClientMapping } from './client-mapping.js';
import type { ClientMemory } from './client-memory.js';
import { type ClientPeers, quota } from './client-peers.js';
import type { PrepareWish } from './message-codec.js';
import { RailTotals } from './rail-totals.js';

interface ClientRequest {
  readonly number: number;
  readonly transfer: ServiceTransfer;
  /** How the service reaches the memory at this end, each way once. */
  readonly memory: readonly MemoryWay[];
  /** Of the last post. */
  post: number;
  isActive: boolean;
  error: TcpxError | undefined;
}

/** What requests are made of. */
export interface RequestParts {
  readonly engine: ClientEngine;
  readonly memory: ClientMemory;
  readonly peers: ClientPeers;
  readonly mapping: ClientMapping;
  readonly requestsMax: number;
}

export class ClientRequests {
  readonly rails = new RailTotals();
  readonly #parts: RequestParts;
  readonly #requests: (ClientRequest | undefined)[] = [];
  readonly #active = new Set<ClientRequest>();

  constructor(parts: RequestParts) {
    this.#parts = parts;
  }

  get hasActive(): boolean {
    return this.#active.size > 0;
  }

  prepare(wish: PrepareWish): number {
    const { engine, memory, peers, mapping, requestsMax } = this.#parts;
    const free = this.#requests.indexOf(undefined);
    const number = free < 0 ? this.#requests.length : free;
    if (number >= requestsMax) throw quota('prepare', 'service.requestsMax', requestsMax);
    const columns = columnsOf(wish, memory, peers);
    let totalBytes = 0;
    for (const bytes of wish.bytes) totalBytes += bytes;
    const peer = peers.get(wish.peer);
    const transfer = engine.prepare(peer, wish.operation, columns, totalBytes);
    const ways = new Set(columns.locals.map((region) => memory.wayOf(region)));
    const state = { post: 0, isActive: false, error: undefined };
    this.#requests[number] = { number, transfer, memory: [...ways], ...state };
    mapping.finishRequest(number, 0, 0);
    return number;
  }

  /** Throws only where the client breaks a rule; what fails is told in the request's entry. */
  post(number: number, post: number, notify: Uint8Array | undefined, deadlineMs: number): void {
    const request = this.#known(number);
    if (request === undefined) {
      this.#parts.mapping.finishRequest(number, post, serviceStatus('ERR_NOT_FOUND'));
      return;
    }
    if (request.isActive) throw broken(`request ${number} is posted while it is in flight`);
    request.post = post;
    request.isActive = true;
    request.error = undefined;
    this.#active.add(request);
    request.transfer.post(notify, deadlineMs);
    this.#look(request);
  }

  cancel(number: number, post: number): void {
    const request = this.#known(number);
    if (request?.post === post) request.transfer.cancel();
  }

  /** Takes what has finished since the last time. */
  collect(): void {
    for (const request of this.#active) this.#look(request);
  }

  /** True when freed; false while it is in flight, after it was cancelled. */
  release(number: number): boolean {
    const request = this.#get(number);
    request.transfer.cancel();
    if (!this.#isOver(request) || !request.transfer.release()) return false;
    this.#requests[number] = undefined;
    return true;
  }

  explain(number: number): string {
    const { error } = this.#get(number);
    return error === undefined ? '' : `${error.code}: ${error.message}`;
  }

  receipt(number: number): string {
    const { transfer, memory } = this.#get(number);
    const { receipt } = transfer;
    if (receipt !== undefined) return JSON.stringify({ memory, ...receipt });
    throw new TcpxError('ERR_USAGE_STATE', `request ${number}: no post of it has finished`);
  }

  #isOver(request: ClientRequest): boolean {
    if (request.isActive) this.#look(request);
    return !request.isActive;
  }

  #look(request: ClientRequest): void {
    const outcome = request.transfer.peek();
    if (outcome === NixlStatus.IN_PROG) return;
    this.#active.delete(request);
    request.isActive = false;
    request.error = request.transfer.error;
    const { receipt } = request.transfer;
    if (receipt !== undefined) this.rails.add(receipt);
    const status = outcome === NixlStatus.SUCCESS ? 0 : failureOf(outcome, request.error);
    this.#parts.mapping.finishRequest(request.number, request.post, status);
  }

  #get(number: number): ClientRequest {
    const request = this.#requests[number];
    if (request !== undefined) return request;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `request ${number} is not prepared`);
  }

  #known(number: number): ClientRequest | undefined {
    if (number >= 0 && number < this.#parts.requestsMax) return this.#requests[number];
    throw broken(`request ${number} of ${this.#parts.requestsMax}`);
  }
}

function failureOf(outcome: NixlStatus, error: TcpxError | undefined): number {
  if (outcome === NixlStatus.ERR_REMOTE_DISCONNECT) return serviceStatus('ERR_PEER_LOST');
  if (error !== undefined) return serviceStatusOf(error);
  const isCancelled = outcome === NixlStatus.ERR_CANCELED;
  return serviceStatus(isCancelled ? 'ERR_CANCELLED' : 'ERR_TRANSFER');
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `command ring: ${rule}`, { facts: { rule } });
}

/** The client's numbers for memory and regions become indexes of short lists. */
function columnsOf(wish: PrepareWish, memory: ClientMemory, peers: ClientPeers): BlockColumns {
  const locals = new Numbering<Region>((id) => memory.get(id).region);
  const remotes = new Numbering<RegionDescriptor>((id) => peers.region(id, wish.peer));
  const localIndexes = new Uint32Array(wish.count);
  const remoteIndexes = new Uint32Array(wish.count);
  for (let row = 0; row < wish.count; row++) {
    const local = locals.indexOf(at(wish.memories, row));
    const remote = remotes.indexOf(at(wish.regions, row));
    localIndexes[row] = local;
    remoteIndexes[row] = remote;
    const bytes = floatAt(wish.bytes, row);
    const localEnd = floatAt(wish.localOffsets, row) + bytes;
    const remoteEnd = floatAt(wish.remoteOffsets, row) + bytes;
    const isInside = localEnd <= at(locals.values, local).bytes;
    if (bytes < 1 || !isInside || remoteEnd > at(remotes.values, remote).bytes) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `prepare: block ${row} of ${bytes} bytes is not inside its memory or its region`,
      );
    }
  }
  return {
    count: wish.count,
    bytes: wish.bytes,
    localOffsets: wish.localOffsets,
    remoteOffsets: wish.remoteOffsets,
    localIndexes,
    remoteIndexes,
    locals: locals.values,
    remotes: remotes.values,
  };
}

/** Numbers in order of first appearance; neighbours mostly share one. */
class Numbering<T> {
  readonly values: T[] = [];
  readonly #open: (id: number) => T;
  readonly #indexes = new Map<number, number>();
  #lastId = -1;
  #lastIndex = -1;

  constructor(open: (id: number) => T) {
    this.#open = open;
  }

  indexOf(id: number): number {
    if (id === this.#lastId) return this.#lastIndex;
    let index = this.#indexes.get(id);
    if (index === undefined) {
      index = this.values.length;
      this.values.push(this.#open(id));
      this.#indexes.set(id, index);
    }
    this.#lastId = id;
    this.#lastIndex = index;
    return index;
  }
}
