// An agent and one peer, as programs see them: what may be posted, and how it ends.

import type { TcpxError } from '../base/errors.js';
import type { RegionDescriptor } from '../memory/region.js';
import type { ConnectionCounters } from '../os/connection-counters.js';
import type { BlockColumns, CheckedBlocks } from '../provider/block-columns.js';
import type { SourceEvent } from '../provider/contract.js';
import type { Choice, DataPath, ProviderName, TransferPath } from '../provider/receipt.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { BlockSpec } from './block-spec.js';
import type { SessionEventMap } from './session-events.js';
import type { SessionState } from './session-state.js';
import type { Transfer } from './transfer.js';

/** What a transfer may be given on its way. */
export interface PostOptions {
  /** Delivered to the peer after every byte has landed. */
  readonly notify?: Uint8Array | string;
  /**
   * Time in ms after which `done` rejects with `ERR_XFER_DEADLINE`, whatever the peer does;
   * `released` says when the memory is free.
   */
  readonly deadlineMs?: number;
  /** CUDA event of this process after which the source may be read; for writes. */
  readonly sourceReady?: SourceEvent;
  /** Cancels the transfer when aborted. */
  readonly signal?: AbortSignal;
}

/** Time and signal of a wait for a peer. */
export interface ConnectWait {
  /** How long to try, in ms; `session.connectTimeoutMs` where it is not given. */
  readonly timeoutMs?: number;
  /** Ends the wait with an `AbortError`. */
  readonly signal?: AbortSignal;
}

/** How long a name is waited for. */
export interface LookupOptions {
  /** Time in ms for a name that the peer does not know yet; 0 by default: its first word counts. */
  readonly waitMs?: number;
  /** Ends the wait with an `AbortError`. */
  readonly signal?: AbortSignal;
}

/** One block, many, or very many as columns. */
export type Blocks = BlockSpec | readonly BlockSpec[] | BlockColumns;

/** A prepared request: post it as often as you like, then release it. */
export interface TransferRequest {
  /** The session that it was prepared for. */
  readonly session: Session;
  /** What posting it does. */
  readonly operation: 'write' | 'read';
  /** The blocks, checked against both regions. */
  readonly blocks: CheckedBlocks;
  /** Pieces that one post moves. */
  readonly chunkCount: number;
  /** How its bytes will go, as the receipts name it. */
  readonly path: TransferPath;
  /**
   * Starts it. On a session whose peer is lost the transfer fails; on one that this end has closed
   * it throws `ERR_USAGE_STATE`.
   */
  post(options?: PostOptions): Transfer;
  /** Frees its memory, after a deadline as soon as it can; not while `done` is awaited. */
  release(): void;
}

/** What the kernel counted on the connection of a channel. */
export interface ChannelCounters extends ConnectionCounters {
  /** Number of the channel within its session, from 0. */
  readonly channel: number;
  /** Interface that it is bound to; empty where routing decides. */
  readonly nic: string;
  /** Which connection of the channel: another one has counted anew. */
  readonly epoch: number;
}

/**
 * The way to one peer. Made by `Engine.connect`, or by a peer and handed to `onSession`.
 *
 * ```ts
 * await using session = await engine.connect('10.0.0.7:20000');
 * const inbox = await session.lookup('inbox');
 * const receipt = await session.write({ local: region, remote: inbox });
 * ```
 */
export interface Session {
  /** Name and address of the peer, for people: `decode-0 (10.0.0.7:20000)`. */
  readonly peer: string;
  /** How the peer calls itself. */
  readonly peerName: string;
  /** Where the peer’s end of the control connection is: `host:port`, or `[v6]:port`. */
  readonly peerAddress: string;
  /** 16 hexadecimal digits that the peer chose when it started: tells it from a successor. */
  readonly peerInstance: string;
  /** Which end this is: the one that was called, or the one that calls. */
  readonly role: 'server' | 'client';
  /** Data connections that both ends agreed on. */
  readonly channels: number;
  /** Largest piece that a transfer is cut into, in bytes; agreed on. */
  readonly chunkBytes: number;
  /** Pieces that one channel may have unconfirmed; agreed on. */
  readonly windowChunks: number;
  /** Interface of each channel now; empty where routing decides, `shm` where none is used. */
  readonly nics: readonly string[];
  /** What carries memory that it can reach. */
  readonly provider: ProviderName;
  /** Why data goes over tcp, or over tcpx. */
  readonly providerReason: string;
  /** How bytes go that no plugin carries: over TCP, or through memory that both ends share. */
  readonly path: DataPath;
  /** Why so: settings, hosts, or what kept two processes of one host from sharing memory. */
  readonly pathReason: string;
  /** The settings that it runs with, each with who or what chose it. */
  readonly choices: readonly Choice[];
  /** Where it is on its way from `attaching` to `closed`. */
  readonly state: SessionState;
  /** Whether transfers may be posted. */
  readonly isReady: boolean;
  /** Why it ended, once it has; `ERR_PEER_GOODBYE` where the peer closed it in order. */
  readonly error: TcpxError | undefined;
  /** Resolves when the session has ended and nothing of it is in flight. Never rejects. */
  readonly closed: Promise<void>;

  /**
   * Checks and encodes a request that is posted many times. Columns instead of blocks spare an
   * object per block, where there are very many. Throws `ERR_USAGE_ARGUMENT`.
   */
  prepare(operation: 'write' | 'read', blocks: Blocks): TransferRequest;
  /**
   * Moves local memory to the peer; await it. Throws `ERR_USAGE_ARGUMENT` for blocks that cannot
   * be, rejects with `ERR_XFER_…` and `ERR_PEER_…` for what happens on the way.
   */
  write(blocks: Blocks, options?: PostOptions): Transfer;
  /** Moves memory of the peer here; otherwise as `write`. */
  read(blocks: Blocks, options?: PostOptions): Transfer;
  /** A message without data; await it to know that it was delivered. */
  notify(
    message: Uint8Array | string,
    options?: Pick<PostOptions, 'deadlineMs' | 'signal'>,
  ): Transfer;
  /**
   * The region that the peer has registered under this name. Rejects with `ERR_PEER_NO_REGION`
   * where there is none, and with `ERR_PEER_TIMEOUT` where the peer does not answer.
   */
  lookup(name: string, options?: LookupOptions): Promise<RegionDescriptor>;
  /**
   * Once it has ended: another session with the same peer. Names are looked up anew there; settings
   * and rights are the engine’s. Rejects with `ERR_USAGE_NOT_SUPPORTED` at the end that was called.
   */
  reopen(options?: ConnectWait): Promise<Session>;

  /** Listens: `close`, `failover`, `channel`, `reopen`, `reopenFailed`. */
  on<E extends keyof SessionEventMap>(
    event: E,
    listener: (...given: SessionEventMap[E]) => void,
  ): this;
  /** Listens for the next one alone. */
  once<E extends keyof SessionEventMap>(
    event: E,
    listener: (...given: SessionEventMap[E]) => void,
  ): this;
  /** Listens no more. */
  off<E extends keyof SessionEventMap>(
    event: E,
    listener: (...given: SessionEventMap[E]) => void,
  ): this;

  /** TCP_INFO of every living channel: a system call for each. Empty over shared memory. */
  kernelCounters(): ChannelCounters[];
  /** Where the helper threads of this end's plugin processes run; those that have been seen. */
  pluginThreads(): readonly ThreadPlacement[];

  /**
   * Keeps the process until the session has ended, also where its engine was told to let it go
   * (`engine.unref()`).
   */
  ref(): this;
  /** Takes `ref` back. Without it a session holds nothing: its engine does. */
  unref(): this;
  /** Says goodbye and gives up what is in flight; ends attempts to make it anew. */
  close(): Promise<void>;
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
