// One known peer: how its backends are reached, and its regions by backend and memory type.

import { TcpxError } from '../base/errors.js';
import type { TargetMd } from './backend.js';
import type { OpenBackend } from './backend-set.js';
import { type BasicDesc, type BlobDesc, compareDescs, formatDesc } from './descriptors.js';
import type { MemType } from './memory-type.js';
import { RangeIndex } from './range-index.js';

export interface RemoteRegion extends BasicDesc {
  readonly key: Uint8Array;
  readonly target: TargetMd;
}

/** The part of a peer that requests keep: enough to know whether it is still the same one. */
export interface PeerRef {
  readonly name: string;
  readonly generation: number;
  readonly isLive: boolean;
}

export class RemotePeer implements PeerRef {
  readonly name: string;
  readonly generation: number;
  isLive = true;
  readonly origin: string;
  regionCount = 0;
  readonly connInfos = new Map<OpenBackend, Uint8Array>();
  readonly sections = new Map<OpenBackend, Map<MemType, RangeIndex<RemoteRegion>>>();

  constructor(name: string, generation: number, origin: string) {
    this.name = name;
    this.generation = generation;
    this.origin = origin;
  }
}

/** The region as an object of the backend; undefined if it is known already. */
export function loadRegion(
  peer: RemotePeer,
  handle: OpenBackend,
  memType: MemType,
  known: readonly RemoteRegion[],
  desc: BlobDesc,
): RemoteRegion | undefined {
  const key = desc.metaInfo ?? new Uint8Array(0);
  if (known.some((region) => Buffer.compare(region.key, key) === 0)) return undefined;
  if (known.length > 0) throw changed(peer.name, `key of ${formatDesc(memType, desc)}`);
  const target = handle.backend.loadRemoteMD?.(desc, memType, peer.name);
  if (target === undefined) {
    throw new TcpxError('ERR_CAP_BACKEND', `loadRemoteMD of ${peer.name}: no object for a region`);
  }
  const { addr, len, devId } = desc;
  return { addr, len, devId, key, target };
}

/** Of the same range: loaded before, or just now from the same section. */
export function knownRegions(
  index: RangeIndex<RemoteRegion>,
  sibling: RemoteRegion | undefined,
  desc: BasicDesc,
): readonly RemoteRegion[] {
  if (sibling !== undefined && compareDescs(sibling, desc) === 0) return [sibling];
  return index.findExact(desc);
}

export function sectionOf(peer: RemotePeer, handle: OpenBackend, memType: MemType) {
  const byMemType = peer.sections.get(handle) ?? new Map<MemType, RangeIndex<RemoteRegion>>();
  peer.sections.set(handle, byMemType);
  const index = byMemType.get(memType) ?? new RangeIndex<RemoteRegion>();
  byMemType.set(memType, index);
  return index;
}

export function changed(agent: string, what: string): TcpxError {
  return new TcpxError(
    'ERR_PEER_CHANGED',
    `loadRemoteMD of ${agent}: the ${what} differs from what was loaded before`,
    { facts: { agent } },
  );
}
