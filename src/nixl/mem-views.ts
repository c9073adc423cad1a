// Views of memory that a device reads by itself. The agent finds the memory; whether there are such
// views is for the backend to say, and TCPX has none.

import { wrongArgument } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { MemViewList } from './backend.js';
import type { BackendHandle } from './backend-handle.js';
import type { BackendSet, OpenBackend } from './backend-set.js';
import type { BasicDesc } from './descriptors.js';
import type { MemType } from './memory-type.js';
import { checkDlist, XferDlist, type XferDlistInput } from './xfer-dlist.js';
import type { XferFactory } from './xfer-factory.js';

/** Stands for no agent: a hole in a view. */
export const NULL_AGENT = 'NULL_AGENT';

/** A range of one of several agents. */
export interface RemoteDesc extends BasicDesc {
  /** Whose memory it is; `NULL_AGENT` leaves a hole. */
  readonly remoteAgent: string;
}

/** Ranges of several agents, for a view. */
export interface RemoteDlist {
  /** Memory that all of them are in. */
  readonly memType: MemType;
  /** The ranges. */
  readonly descs: readonly RemoteDesc[];
}

/**
 * A view that a backend has made.
 * @example
 * const view = agent.prepMemView(list);
 * agent.releaseMemView(view);
 */
export class MemView {
  /** The backend that it belongs to. */
  readonly backend: BackendHandle;
  readonly #inner: object;

  /** @internal */
  constructor(backend: BackendHandle, inner: object) {
    this.backend = backend;
    this.#inner = inner;
  }

  /** What the backend made, for the device's code. */
  get inner(): object {
    return this.#inner;
  }
}

export class MemViews {
  readonly #backends: BackendSet;
  readonly #factory: XferFactory;
  readonly #log: Log;
  readonly #live = new Map<MemView, OpenBackend>();

  constructor(backends: BackendSet, factory: XferFactory, log: Log) {
    this.#backends = backends;
    this.#factory = factory;
    this.#log = log;
  }

  prepare(list: XferDlistInput | RemoteDlist, hint?: readonly BackendHandle[]): MemView {
    for (const handle of this.#backends.select(hint)) {
      const found = isRemote(list) ? this.#findThere(handle, list) : this.#findHere(handle, list);
      if (found === undefined) continue;
      const inner = handle.backend.prepMemView?.(found);
      if (inner === undefined) {
        throw new TcpxError('ERR_USAGE_NOT_SUPPORTED', `prepMemView: ${handle.type} has no views`);
      }
      const view = new MemView(handle.handle, inner);
      this.#live.set(view, handle);
      return view;
    }
    throw new TcpxError('ERR_USAGE_NOT_FOUND', 'prepMemView: no backend covers the whole list');
  }

  release(view: MemView): void {
    if (!(view instanceof MemView)) {
      throw wrongArgument('releaseMemView: the view', 'what prepMemView gave', view);
    }
    const handle = this.#live.get(view);
    if (handle === undefined) {
      this.#log.warn('memory view is unknown', {});
      return;
    }
    this.#live.delete(view);
    handle.backend.releaseMemView?.(view.inner);
  }

  #findHere(handle: OpenBackend, input: XferDlistInput): MemViewList | undefined {
    const list = XferDlist.from(input);
    return list.count === 0 ? undefined : this.#factory.resolve(handle, '', list);
  }

  #findThere(handle: OpenBackend, { memType, descs }: RemoteDlist): MemViewList | undefined {
    const agents = descs.map((desc) => desc.remoteAgent);
    if (agents.every((agent) => agent === NULL_AGENT)) return undefined;
    const list = XferDlist.from({ memType, descs });
    const mds: unknown[] = [];
    for (const { remoteAgent, ...desc } of descs) {
      if (remoteAgent === NULL_AGENT) {
        mds.push(undefined);
        continue;
      }
      const one = XferDlist.from({ memType, descs: [desc] });
      const found = this.#factory.resolve(handle, remoteAgent, one);
      if (found === undefined) return undefined;
      mds.push(found.mds[0]);
    }
    const { count, addrs, lens, devIds } = list;
    return { memType, count, addrs, lens, devIds, mds, agents };
  }
}

function isRemote(list: XferDlistInput | RemoteDlist): list is RemoteDlist {
  if (list instanceof XferDlist) return false;
  checkDlist('prepMemView', list);
  const [first] = list.descs;
  return first !== undefined && 'remoteAgent' in first;
}
