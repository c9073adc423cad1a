// The contract between the agent and what moves the bytes: NIXL's backend engine as a type.
// Set-up calls throw a TcpxError when they fail; calls on the data path return a NixlStatus,
// never throw, and never wait. Test a backend with the suite in test/contract/backend.ts.

import type { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { PageKind, RegionMemory } from '../os/region-memory.js';
import type { BlobDesc, RegDlist } from './descriptors.js';
import type { MemType, XferOp } from './memory-type.js';
import type { NixlNotification } from './notif-codec.js';
import type { NixlStatus } from './status.js';

/** Version of the contract between agent and backend. */
export const BACKEND_API_VERSION = 1;

/** Parameters by name; texts, as in NIXL. */
export type BackendParams = Readonly<Record<string, string>>;

/** What a backend is created with. */
export interface BackendInit {
  /** Name of the agent that it works for. */
  readonly localAgent: string;
  /** The name the user asked for, which need not be the plugin's own. */
  readonly type: string;
  /** Parameters of the caller over the defaults. */
  readonly params: BackendParams;
  /** Where it writes events. */
  readonly log: Log;
}

// A backend's own objects; the agent keeps them and hands them back, and never looks inside.

/** What a backend makes of memory that was registered with it. */
export type RegionMd = object;
/** What a backend makes of memory that transfers go to or come from: a peer's, or its own. */
export type TargetMd = object;
/** What a backend makes of a transfer that was prepared. */
export type XferHandle = object;

/**
 * One side of a request, in columns of `count` entries. Owned by the agent's request, identical at
 * every repost: what prepXfer derives from it may be kept. `mds[i]` is the registerMem result on
 * the local side; on the target side the result of loadRemoteMD, or of loadLocalMD for loopback.
 */
export interface MetaDlist {
  /** Memory that all of it is in. */
  readonly memType: MemType;
  /** Number of ranges. */
  readonly count: number;
  /** First byte of each. */
  readonly addrs: Float64Array;
  /** Length of each. */
  readonly lens: Float64Array;
  /** Device of each. */
  readonly devIds: Float64Array;
  /** What the backend gave out when the range of each was registered. */
  readonly mds: readonly unknown[];
}

/** Memory of a view; in one over memory of others, `mds[i]` is undefined where a hole is. */
export interface MemViewList extends MetaDlist {
  /** Whose memory each range is; undefined for memory of this agent. */
  readonly agents?: readonly string[];
}

/** A transfer as a backend is asked to prepare it. */
export interface XferPreparation {
  /** Write or read. */
  readonly op: XferOp;
  /** Ranges at this end. */
  readonly local: MetaDlist;
  /** Same count, lengths equal pair by pair; one peer, but any number of regions and devices. */
  readonly remote: MetaDlist;
  /** Name of the peer. */
  readonly agent: string;
  /** NIXL's customParam, passed on unread. */
  readonly customParam?: string;
}

/** How long a transfer will take. */
export interface XferCost {
  /** Time that is expected, in µs. */
  readonly durationUs: number;
  /** How far off that may be, in µs. */
  readonly errorMarginUs: number;
  /** How it was found. */
  readonly method: 'analytical';
}

/** What moves an agent's data. Optional methods are those of optional abilities. */
export interface Backend {
  // ── capabilities: constant for the backend's life ──

  /** Reaches other agents. Requires getConnInfo, loadRemoteConnInfo, getPublicData, loadRemoteMD,
   *  and supportsNotif. */
  readonly supportsRemote: boolean;
  /** Moves bytes within the agent. Requires loadLocalMD and a connect(own name) that works. */
  readonly supportsLocal: boolean;
  /** Requires getNotifs and genNotif. */
  readonly supportsNotif: boolean;
  /** Memory that it can register. */
  getSupportedMems(): readonly MemType[];

  // ── life cycle ──

  /** Read once, when the backend is created: not empty, so ports must be bound by then. */
  getConnInfo?(): Uint8Array;
  /** Once per peer: remember how to reach it; connecting may wait. The bytes are hostile. */
  loadRemoteConnInfo?(agent: string, connInfo: Uint8Array): void;
  /** Idempotent. Called with the own name at creation, with a peer's by makeConnection. */
  connect(agent: string): void | Promise<void>;
  /** After the peer's regions were unloaded. The same name may be loaded again afterwards. */
  disconnect(agent: string): void | Promise<void>;
  /** Ends everything; the agent calls nothing afterwards. */
  close(): void | Promise<void>;

  // ── memory ──

  /** Host memory that the backend moves in the best way it has; its owner registers it. */
  allocateMem?(byteCount: number, pages: PageKind): RegionMemory;
  /** One contiguous range; the result comes back in transfers and in deregisterMem. */
  registerMem(desc: BlobDesc, memType: MemType): RegionMd | Promise<RegionMd>;
  /** May refuse, by throwing, while transfers use the range; it then stays registered. */
  deregisterMem(md: RegionMd): void | Promise<void>;
  /** What a peer needs for the range; any length, zero bytes allowed. */
  getPublicData?(md: RegionMd): Uint8Array;
  /** Target-side object for loopback; may be the region itself, then unloadMD is harmless. */
  loadLocalMD?(md: RegionMd): TargetMd;
  /** Target-side object of a peer's range; `desc.metaInfo` is that peer's public data: hostile. */
  loadRemoteMD?(desc: BlobDesc, memType: MemType, agent: string): TargetMd;
  /** Transfers in flight may still hold the object: keep alive what they need. */
  unloadMD(md: TargetMd): void;
  /** What there is to say of each range; undefined for one that is not there. */
  queryMem?(
    list: RegDlist,
  ): readonly (BackendParams | undefined)[] | Promise<readonly (BackendParams | undefined)[]>;
  /** A view of memory for code on a device. */
  prepMemView?(list: MemViewList): object;
  /** Takes a view back. */
  releaseMemView?(view: object): void;

  // ── transfers ──

  /** Once per request; everything that need not happen at each post happens here. */
  prepXfer(preparation: XferPreparation): XferHandle;
  /**
   * Starts the transfer: IN_PROG, SUCCESS or an error. Called again on the same handle after it
   * ended. With `notif`, the target learns of it after all bytes are visible there: once per
   * successful post, not at all for a failed one. REMOTE_DISCONNECT only for a lost peer.
   */
  postXfer(handle: XferHandle, notif: Uint8Array | undefined): NixlStatus;
  /** Progress and status; called only while the agent believes the transfer runs. */
  checkXfer(handle: XferHandle): NixlStatus;
  /**
   * Aborts if running, then frees. SUCCESS: freed, and no byte of it moves any more. Negative:
   * could not abort yet, the handle lives on.
   */
  releaseReqH(handle: XferHandle): NixlStatus;
  /**
   * Asks a running transfer to stop; checkXfer then reports CANCELED (or SUCCESS, if it was
   * faster) once no byte moves any more. Not in NIXL; without it, abort and deadline use
   * releaseReqH.
   */
  cancelXfer?(handle: XferHandle): void;
  /** Why the last post failed, where the backend knows more than a number. */
  getXferError?(handle: XferHandle): TcpxError | undefined;
  /**
   * Why a running transfer cannot go on while the event loop stands still; undefined where it can.
   * Asked when a program has polled for long without returning there. Not in NIXL.
   */
  eventLoopNeed?(handle: XferHandle): string | undefined;
  /** How long a prepared transfer will take. */
  estimateXferCost?(handle: XferHandle): XferCost;

  // ── notifications ──

  /** Moves out what has arrived, in order per sender, each exactly once. */
  getNotifs?(): NixlNotification[];
  /** Fire and forget; empty messages arrive too. */
  genNotif?(agent: string, message: Uint8Array): void;

  // ── events ──

  /**
   * `wake` is called whenever a transfer may have ended or a notification may have come, so that
   * waiting costs nothing. Without this, waiting agents poll, which also drives progress.
   */
  onActivity?(wake: () => void): void;
}

/** What a plugin module exports as `nixlBackendPlugin`. */
export interface BackendPlugin {
  /** `BACKEND_API_VERSION` that it was written for. */
  readonly apiVersion: number;
  /** Name that `createBackend` takes. */
  readonly name: string;
  /** Of the plugin itself. */
  readonly version: string;
  /** Parameters and what they are without being set. */
  readonly defaultParams: BackendParams;
  /** Memory that its backends can move. */
  readonly memTypes: readonly MemType[];
  /** Makes a backend for one agent. */
  create(init: BackendInit): Backend | Promise<Backend>;
}

/** Which methods the capabilities demand; the names of those that are missing. */
export function missingMethods(backend: Backend): string[] {
  const demanded: (keyof Backend)[] = [
    'getSupportedMems',
    'connect',
    'disconnect',
    'close',
    'registerMem',
    'deregisterMem',
    'unloadMD',
    'prepXfer',
    'postXfer',
    'checkXfer',
    'releaseReqH',
  ];
  if (backend.supportsRemote) {
    demanded.push('getConnInfo', 'loadRemoteConnInfo', 'getPublicData', 'loadRemoteMD');
  }
  if (backend.supportsLocal) demanded.push('loadLocalMD');
  if (backend.supportsNotif) demanded.push('getNotifs', 'genNotif');
  return demanded.filter((name) => typeof backend[name] !== 'function');
}
