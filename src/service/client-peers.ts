// Peers that a client has loaded, by the numbers it knows them by, and their regions.

import { TcpxError } from '../base/errors.js';
import { serviceStatusOf } from '../base/service-status.js';
import type { RegionDescriptor } from '../memory/region.js';
import { type ClientEngine, parseKey, type ServicePeer } from './client-engine.js';
import type { ClientMapping } from './client-mapping.js';

interface LoadedPeer {
  readonly name: string;
  readonly info: string;
  readonly peer: ServicePeer;
  /** Connects that the client has asked for, and why the last one failed. */
  connects: number;
  error: string;
}

export interface RemoteRegion {
  readonly peerNumber: number;
  readonly descriptor: RegionDescriptor;
}

export interface PeerLimits {
  readonly peersMax: number;
  readonly regionsMax: number;
}

export class ClientPeers {
  readonly #engine: ClientEngine;
  readonly #mapping: ClientMapping;
  readonly #limits: PeerLimits;
  readonly #onNews: () => void;
  readonly #peers: (LoadedPeer | undefined)[] = [];
  readonly #regions = new Map<number, RemoteRegion>();
  #lastRegion = 0;

  constructor(
    engine: ClientEngine,
    mapping: ClientMapping,
    limits: PeerLimits,
    onNews: () => void,
  ) {
    this.#engine = engine;
    this.#mapping = mapping;
    this.#limits = limits;
    this.#onNews = onNews;
  }

  load(name: string, info: string): number {
    const known = this.#peers.findIndex((peer) => peer?.name === name);
    if (known >= 0) {
      if (this.#peers[known]?.info === info) return known;
      throw new TcpxError('ERR_USAGE_STATE', `load ${name}: it is loaded with other info`);
    }
    const free = this.#peers.indexOf(undefined);
    const number = free < 0 ? this.#peers.length : free;
    if (number >= this.#limits.peersMax) {
      throw quota(`load ${name}`, 'service.peersMax', this.#limits.peersMax);
    }
    const peer = this.#engine.loadPeer(name, info);
    this.#peers[number] = { name, info, peer, connects: 0, error: '' };
    this.#mapping.finishConnect(number, 0, 0);
    return number;
  }

  get(number: number): ServicePeer {
    return this.#entry(number).peer;
  }

  /** Begins; how it ended stands in the peer's entry, under the number that is returned. */
  connect(number: number): number {
    const entry = this.#entry(number);
    const connect = ++entry.connects;
    const finish = (error: unknown): void => {
      entry.error = error instanceof Error ? error.message : '';
      // Dropped meanwhile, and the number may be another peer's by now.
      if (this.#peers[number] !== entry) return;
      const status = error === undefined ? 0 : serviceStatusOf(error);
      this.#mapping.finishConnect(number, connect, status);
      this.#onNews();
    };
    entry.peer.connect().then(() => finish(undefined), finish);
    return connect;
  }

  explain(number: number): string {
    return this.#entry(number).error;
  }

  async disconnect(number: number): Promise<void> {
    const entry = this.#entry(number);
    this.#peers[number] = undefined;
    for (const [id, region] of this.#regions) {
      if (region.peerNumber === number) this.#regions.delete(id);
    }
    await this.#engine.dropPeer(entry.peer);
  }

  loadRegion(peerNumber: number, key: string, bytes: number): number {
    this.#entry(peerNumber);
    if (this.#regions.size >= this.#limits.regionsMax) {
      throw quota('load a region', 'service.remoteRegionsMax', this.#limits.regionsMax);
    }
    const descriptor = parseKey(key, bytes);
    const id = ++this.#lastRegion;
    this.#regions.set(id, { peerNumber, descriptor });
    return id;
  }

  region(id: number, peerNumber: number): RegionDescriptor {
    const region = this.#regions.get(id);
    if (region?.peerNumber === peerNumber) return region.descriptor;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `region ${id} of peer ${peerNumber} is not loaded`);
  }

  unloadRegion(id: number): void {
    if (this.#regions.delete(id)) return;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `region ${id} is not loaded`);
  }

  #entry(number: number): LoadedPeer {
    const entry = this.#peers[number];
    if (entry !== undefined) return entry;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `peer ${number} is not loaded`);
  }
}

export function quota(attempted: string, setting: string, limit: number): TcpxError {
  return new TcpxError('ERR_CAP_QUOTA', `${attempted}: ${setting} allows ${limit}`);
}
