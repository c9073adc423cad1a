// What this agent knows of others: how their backends are reached and which ranges they offer.
// A blob is hostile until checked, and counts only for the peer it names, from where that peer was
// first heard of. Each time a peer is (re)loaded it gets a new generation; old requests never run
// against a newer one.

import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { BackendSet, OpenBackend } from './backend-set.js';
import { compareDescs } from './descriptors.js';
import type { MemType } from './memory-type.js';
import {
  type AgentMetadata,
  type ConnectionEntry,
  decodeMetadata,
  type SectionEntry,
} from './metadata.js';
import { PushedPeers, type PushLimits } from './pushed-peers.js';
import { RangeIndex } from './range-index.js';
import {
  changed,
  knownRegions,
  loadRegion,
  type PeerRef,
  RemotePeer,
  type RemoteRegion,
  sectionOf,
} from './remote-peer.js';

/** Where a load comes from when the program itself hands over the bytes. */
export const APPLICATION_ORIGIN = 'application';

/** Process-wide, so that no two peers of any agent ever share one. */
let lastGeneration = 0;

export function nextGeneration(): number {
  return ++lastGeneration;
}

const EMPTY = new RangeIndex<RemoteRegion>();

export interface PeerLimits {
  readonly blobBytes: number;
  readonly peers: number;
  /** Over all peers together: each region costs an object here. */
  readonly regions: number;
  readonly pushed: PushLimits;
}

export interface RemotePeersOptions {
  readonly ownName: string;
  readonly backends: BackendSet;
  readonly limits: PeerLimits;
  readonly log: Log;
  readonly onEvicted: (agent: string) => void;
}

interface LoadFrom {
  readonly origin: string;
  /** By the program; else a peer has pushed it. */
  readonly isAsked: boolean;
  readonly expectedName: string | undefined;
}

export class RemotePeers {
  readonly #peers = new Map<string, RemotePeer>();
  readonly #options: RemotePeersOptions;
  readonly #ownName: string;
  readonly #backends: BackendSet;
  readonly #log: Log;
  /** Those that nobody here has asked for. */
  readonly #pushed: PushedPeers<RemotePeer>;
  #regionCount = 0;
  /** Disconnects that are still under way, so that closing can wait for them. */
  readonly #farewells = new Set<Promise<void>>();

  constructor(options: RemotePeersOptions) {
    this.#options = options;
    this.#pushed = new PushedPeers(options.limits.pushed);
    this.#ownName = options.ownName;
    this.#backends = options.backends;
    this.#log = options.log;
  }

  find(name: string): PeerRef | undefined {
    return this.#peers.get(name);
  }

  names(): string[] {
    return [...this.#peers.keys()];
  }

  /** Whether the peer told how this backend reaches it. */
  isReachable(name: string, handle: OpenBackend): boolean {
    return this.#peers.get(name)?.connInfos.has(handle) ?? false;
  }

  index(name: string, handle: OpenBackend, memType: MemType): RangeIndex<RemoteRegion> {
    return this.#peers.get(name)?.sections.get(handle)?.get(memType) ?? EMPTY;
  }

  /** Takes a blob in; returns the peer's name. Loads add up, so a peer may come in parts. */
  load(blob: Uint8Array, origin: string, expectedName?: string): string {
    checkSize(blob, this.#options.limits.blobBytes);
    const metadata = decodeMetadata(blob);
    const isAsked = origin === APPLICATION_ORIGIN || expectedName !== undefined;
    const peer = this.#admit(metadata, { origin, isAsked, expectedName });
    const connections = this.#checkConnections(peer, metadata.connections);
    const wasKnown = this.#peers.has(peer.name);
    this.#peers.set(peer.name, peer);
    if (isAsked) this.#pushed.delete(peer);
    else if (!wasKnown) this.#pushed.add(peer);
    try {
      for (const [handle, info] of connections) {
        handle.backend.loadRemoteConnInfo?.(peer.name, info);
        peer.connInfos.set(handle, info);
      }
      for (const section of metadata.sections) this.#loadSection(peer, section);
    } catch (error) {
      // Half a peer is worse than none: it must be loaded anew.
      this.#evict(peer, wasKnown);
      throw toTcpxError(error, 'ERR_CAP_BACKEND', `loadRemoteMD of ${peer.name}`);
    }
    return peer.name;
  }

  invalidate(name: string, origin: string): void {
    if (name === this.#ownName) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'invalidateRemoteMD: an agent is not its own peer');
    }
    const peer = this.#peers.get(name);
    if (peer === undefined) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', `invalidateRemoteMD: agent ${name} is unknown`);
    }
    checkOrigin(peer, origin, 'invalidate');
    this.#evict(peer);
  }

  /** Forgets a peer that was lost, unless it has been loaded anew in the meantime. */
  evictLost(lost: PeerRef): void {
    const peer = this.#peers.get(lost.name);
    if (peer?.generation !== lost.generation) return;
    this.#log.warn('peer lost', { agent: lost.name });
    this.#evict(peer);
  }

  async clear(): Promise<void> {
    for (const peer of this.#peers.values()) this.#evict(peer);
    await Promise.all(this.#farewells);
  }

  #admit(metadata: AgentMetadata, { origin, isAsked, expectedName }: LoadFrom): RemotePeer {
    const name = metadata.agent;
    if (name === this.#ownName) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'loadRemoteMD: an agent is not its own peer');
    }
    if (expectedName !== undefined && name !== expectedName) {
      throw new TcpxError(
        'ERR_WIRE_METADATA',
        `loadRemoteMD: metadata of ${name} came where that of ${expectedName} was asked for`,
      );
    }
    const known = this.#peers.get(name);
    if (known !== undefined) {
      checkOrigin(known, origin, 'load');
      return known;
    }
    if (!isAsked) this.#pushed.checkRoom(origin, name);
    this.#checkRoom(name, isAsked);
    return new RemotePeer(name, nextGeneration(), origin);
  }

  // What the program asks for is not kept out by what others have pushed.
  #checkRoom(name: string, isAsked: boolean): void {
    const { peers } = this.#options.limits;
    if (this.#peers.size < peers) return;
    const pushed = isAsked ? this.#pushed.oldestOfBusiest() : undefined;
    if (pushed === undefined) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `load of ${name}: ${peers} agents are known, nixl.peersMax allows no more`,
      );
    }
    const reason = `nixl.peersMax: ${peers} agents are known`;
    this.#log.warn('pushed agent forgotten', { agent: pushed.name, origin: pushed.origin, reason });
    this.#evict(pushed);
  }

  /** The connections to load; refuses before anything is changed. */
  #checkConnections(peer: RemotePeer, entries: readonly ConnectionEntry[]) {
    const fresh: [OpenBackend, Uint8Array][] = [];
    let matchCount = 0;
    for (const { type, info } of entries) {
      const handle = this.#backends.get(type);
      if (handle?.backend.supportsRemote !== true) continue;
      matchCount++;
      const known = peer.connInfos.get(handle);
      if (known === undefined) fresh.push([handle, info]);
      else if (Buffer.compare(known, info) !== 0) {
        throw changed(peer.name, `connection info of backend ${type}`);
      }
    }
    if (entries.length > 0 && matchCount === 0) {
      const types = entries.map((entry) => entry.type).join(', ');
      throw new TcpxError(
        'ERR_CAP_BACKEND',
        `loadRemoteMD of ${peer.name}: this agent has none of its backends (${types})`,
      );
    }
    return fresh;
  }

  #loadSection(peer: RemotePeer, section: SectionEntry): void {
    if (section.descs.length === 0) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', `loadRemoteMD of ${peer.name}: an empty section`);
    }
    const handle = this.#backends.get(section.type);
    if (handle?.backend.supportsRemote !== true) return;
    if (!handle.memTypes.includes(section.memType)) {
      throw new TcpxError(
        'ERR_CAP_BACKEND',
        `loadRemoteMD of ${peer.name}: ${section.type} here does not take its memory type`,
      );
    }
    const { regions } = this.#options.limits;
    if (this.#regionCount + section.descs.length > regions) {
      throw new TcpxError(
        'ERR_WIRE_LIMIT',
        `loadRemoteMD of ${peer.name}: nixl.remoteRegionsMax allows ${regions} regions of peers`,
      );
    }
    this.#pushed.checkRegions(peer, section.descs.length);
    const index = sectionOf(peer, handle, section.memType);
    const fresh: RemoteRegion[] = [];
    try {
      // In order, so that two entries for one range stand side by side.
      for (const desc of section.descs.toSorted(compareDescs)) {
        const known = knownRegions(index, fresh.at(-1), desc);
        const region = loadRegion(peer, handle, section.memType, known, desc);
        if (region !== undefined) fresh.push(region);
      }
    } finally {
      index.addAll(fresh);
      peer.regionCount += fresh.length;
      this.#regionCount += fresh.length;
    }
  }

  #evict(peer: RemotePeer, isAnnounced = true): void {
    peer.isLive = false;
    this.#peers.delete(peer.name);
    this.#pushed.delete(peer);
    this.#regionCount -= peer.regionCount;
    for (const [handle, byMemType] of peer.sections) {
      for (const index of byMemType.values()) {
        for (const region of index.entries()) this.#unload(handle, region);
      }
    }
    for (const handle of peer.connInfos.keys()) this.#disconnect(handle, peer.name);
    if (isAnnounced) this.#options.onEvicted(peer.name);
  }

  #unload(handle: OpenBackend, region: RemoteRegion): void {
    try {
      handle.backend.unloadMD(region.target);
    } catch (error) {
      this.#log.warn('unload failed', { backend: handle.type, reason: String(error) });
    }
  }

  #disconnect(handle: OpenBackend, agent: string): void {
    const farewell = (async () => handle.backend.disconnect(agent))()
      .catch((error: unknown) => {
        this.#log.debug('disconnect failed', { agent, reason: String(error) });
      })
      .finally(() => this.#farewells.delete(farewell));
    this.#farewells.add(farewell);
  }
}

function checkSize(blob: Uint8Array, limit: number): void {
  if (blob.length <= limit) return;
  throw new TcpxError(
    'ERR_WIRE_LIMIT',
    `loadRemoteMD: ${blob.length} bytes of metadata; at most ${limit} are taken`,
    { facts: { bytes: blob.length, limit } },
  );
}

/**
 * The program may do what it likes. Others may only speak for peers that were first heard of from
 * the same place, so nobody can change or remove what another host said of itself.
 */
function checkOrigin(peer: RemotePeer, origin: string, attempted: string): void {
  if (origin === APPLICATION_ORIGIN || origin === peer.origin) return;
  throw new TcpxError(
    'ERR_PEER_CHANGED',
    `${attempted} ${peer.name}: asked from ${origin}, but it was loaded from ${peer.origin}`,
    { facts: { agent: peer.name, origin } },
  );
}
