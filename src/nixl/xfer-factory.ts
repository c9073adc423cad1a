// Makes requests: resolves lists against what is registered here and known of the peer, chooses the
// backend (the first created that covers both sides, or the one named), and lets it prepare.

import {
  checkFlag,
  checkList,
  checkMessage,
  checkOptions,
  wrongArgument,
} from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { MetaDlist } from './backend.js';
import type { BackendHandle } from './backend-handle.js';
import type { BackendSet, OpenBackend } from './backend-set.js';
import { LiveRequest } from './live-request.js';
import type { LocalSections } from './local-sections.js';
import { checkMovable, type XferOpInput, xferOpOf } from './memory-type.js';
import { checkAgentName } from './names.js';
import type { PeerRef } from './remote-peer.js';
import type { RemotePeers } from './remote-peers.js';
import { ResolvedDlist, resolveList } from './resolved-dlist.js';
import { checkPairs, XferDlist, type XferDlistInput } from './xfer-dlist.js';
import { pairLists } from './xfer-merge.js';

/** How a request is made. */
export interface XferOptions {
  /** Restricts the choice; by default all, in the order of creation. */
  readonly backends?: readonly BackendHandle[];
  /** Sent to the target after the data; an empty one is sent too. */
  readonly notif?: Uint8Array | string;
  /** Handed to the backend as it is. */
  readonly customParam?: string;
  /** makeXferReq only: keep descriptors as they are. */
  readonly skipDescMerge?: boolean;
}

export function notifBytes(notif: Uint8Array | string | undefined): Uint8Array | undefined {
  if (notif === undefined) return undefined;
  checkMessage('the notification', notif);
  return typeof notif === 'string' ? Buffer.from(notif) : Uint8Array.from(notif);
}

export class XferFactory {
  readonly #self: PeerRef;
  readonly #backends: BackendSet;
  readonly #sections: LocalSections;
  readonly #peers: RemotePeers;

  constructor(self: PeerRef, backends: BackendSet, sections: LocalSections, peers: RemotePeers) {
    this.#self = self;
    this.#backends = backends;
    this.#sections = sections;
    this.#peers = peers;
  }

  /** `''`: this agent's side. The own name: the far side of a loopback. Else: a peer's side. */
  prepare(agent: string, input: XferDlistInput, options: XferOptions): ResolvedDlist {
    checkXferOptions('prepXferDlist', options);
    if (agent !== '') checkAgentName(agent, 'prepXferDlist');
    const list = XferDlist.from(input);
    checkMovable(list.memType, 'prepXferDlist');
    if (list.count === 0) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', 'prepXferDlist: the list is empty');
    }
    const peer = agent === '' ? this.#self : this.#peerOf(agent, 'prepXferDlist');
    const mds = new Map<OpenBackend, readonly unknown[]>();
    for (const handle of this.#backends.select(options.backends)) {
      const resolved =
        agent === '' ? this.#resolveHere(handle, list) : this.#resolveThere(handle, list, peer);
      if (resolved !== undefined) mds.set(handle, resolved);
    }
    if (mds.size === 0) throw notCovered('prepXferDlist', agent === '' ? this.#self.name : agent);
    return new ResolvedDlist(agent === '' ? 'initiator' : 'target', peer, list, mds);
  }

  make(
    op: XferOpInput,
    local: ResolvedDlist,
    localIndices: ArrayLike<number>,
    remote: ResolvedDlist,
    remoteIndices: ArrayLike<number>,
    options: XferOptions,
  ): LiveRequest {
    const operation = xferOpOf(op, 'makeXferReq');
    checkXferOptions('makeXferReq', options);
    checkSides(local, remote);
    checkIndices('makeXferReq: local indices', localIndices);
    checkIndices('makeXferReq: remote indices', remoteIndices);
    if (localIndices.length === 0 || localIndices.length !== remoteIndices.length) {
      throw new TcpxError(
        'ERR_USAGE_ARGUMENT',
        `makeXferReq: ${localIndices.length} local and ${remoteIndices.length} remote indices; ` +
          'the counts must be equal and not zero',
      );
    }
    const backend = this.#backends
      .select(options.backends)
      .find((handle) => local.covers(handle) && remote.covers(handle));
    if (backend === undefined) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'makeXferReq: the lists share no backend');
    }
    const isMerging = options.skipDescMerge !== true;
    const lists = pairLists(backend, local, localIndices, remote, remoteIndices, isMerging);
    const parts = { op: operation, backend, peer: remote.peer, ...lists };
    return new LiveRequest(parts, notifBytes(options.notif), options.customParam);
  }

  create(
    op: XferOpInput,
    localInput: XferDlistInput,
    remoteInput: XferDlistInput,
    agent: string,
    options: XferOptions,
  ): LiveRequest {
    const operation = xferOpOf(op, 'createXferReq');
    checkXferOptions('createXferReq', options);
    const localList = XferDlist.from(localInput);
    const remoteList = XferDlist.from(remoteInput);
    checkPairs(localList.lens, remoteList.lens, 'createXferReq');
    const remote = this.prepare(agent, remoteList, options);
    const local = this.prepare('', localList, options);
    if (remote.side !== 'target') {
      throw new TcpxError('ERR_USAGE_ARGUMENT', 'createXferReq: a remote agent must be named');
    }
    const backend = this.#backends
      .select(options.backends)
      .find((handle) => local.covers(handle) && remote.covers(handle));
    if (backend === undefined) throw notCovered('createXferReq', agent);
    const lists = { local: local.metaDlist(backend), remote: remote.metaDlist(backend) };
    const parts = { op: operation, backend, peer: remote.peer, ...lists };
    return new LiveRequest(parts, notifBytes(options.notif), options.customParam);
  }

  /**
   * Whether the peer is known, and one backend that both share covers the list. As in NIXL an agent
   * knows itself once it has memory for loopback, and answers no question about its own ranges.
   */
  isCovered(agent: string, input: XferDlistInput | undefined): boolean {
    checkAgentName(agent, 'checkRemoteMD');
    const list = input === undefined ? undefined : XferDlist.from(input);
    const isEmpty = list === undefined || list.count === 0;
    if (agent === this.#self.name) return isEmpty && this.#sections.hasLoopback;
    const peer = this.#peers.find(agent);
    if (isEmpty || peer === undefined) return peer !== undefined;
    const resolves = (handle: OpenBackend) => this.#resolveThere(handle, list, peer) !== undefined;
    return this.#backends.all().some(resolves);
  }

  /** The list as the backend sees it; undefined where it does not cover it. Agents as `prepare`. */
  resolve(handle: OpenBackend, agent: string, list: XferDlist): MetaDlist | undefined {
    const peer = agent === '' ? this.#self : this.#peerOf(agent, 'prepMemView');
    const mds =
      agent === '' ? this.#resolveHere(handle, list) : this.#resolveThere(handle, list, peer);
    if (mds === undefined) return undefined;
    const { memType, count, addrs, lens, devIds } = list;
    return { memType, count, addrs, lens, devIds, mds };
  }

  #peerOf(agent: string, attempted: string): PeerRef {
    if (agent === this.#self.name) return this.#self;
    const peer = this.#peers.find(agent);
    if (peer !== undefined) return peer;
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `${attempted}: agent ${agent} is unknown`, {
      facts: { agent },
    });
  }

  #resolveHere(handle: OpenBackend, list: XferDlist): unknown[] | undefined {
    const index = this.#sections.index(handle, list.memType);
    return resolveList(index, list, ({ region }) => region.md);
  }

  #resolveThere(handle: OpenBackend, list: XferDlist, peer: PeerRef): unknown[] | undefined {
    if (peer === this.#self) {
      if (!handle.backend.supportsLocal) return undefined;
      const index = this.#sections.index(handle, list.memType);
      return resolveList(index, list, ({ region }) => region.target);
    }
    if (!this.#peers.isReachable(peer.name, handle)) return undefined;
    const index = this.#peers.index(peer.name, handle, list.memType);
    return resolveList(index, list, (region) => region.target);
  }
}

const XFER_OPTIONS = {
  backends: checkList,
  notif: checkMessage,
  customParam: checkMessage,
  skipDescMerge: checkFlag,
};

function checkXferOptions(attempted: string, options: XferOptions): void {
  checkOptions(attempted, options, XFER_OPTIONS);
  const { customParam } = options;
  if (customParam !== undefined && typeof customParam !== 'string') {
    throw wrongArgument(`${attempted}: customParam`, 'a text', customParam);
  }
}

// Each index is checked where it is used.
function checkIndices(what: string, indices: ArrayLike<number>): void {
  if (Array.isArray(indices) || ArrayBuffer.isView(indices)) return;
  throw wrongArgument(what, 'an array or a typed array', indices);
}

function checkSides(local: ResolvedDlist, remote: ResolvedDlist): void {
  if (local.isReleased || remote.isReleased) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'makeXferReq: a prepared list was released');
  }
  if (local.side !== 'initiator' || remote.side !== 'target') {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      'makeXferReq: the first list must be prepared for "" and the second for the target',
    );
  }
  // Its objects died with the peer's old generation.
  if (!remote.peer.isLive) {
    throw new TcpxError(
      'ERR_USAGE_NOT_FOUND',
      `makeXferReq: the list was prepared for an earlier generation of ${remote.peer.name}`,
    );
  }
}

function notCovered(attempted: string, agent: string): TcpxError {
  return new TcpxError(
    'ERR_USAGE_NOT_FOUND',
    `${attempted}: no backend covers the whole list with registered memory of ${agent}`,
    { facts: { agent } },
  );
}
