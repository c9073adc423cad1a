// An agent and one peer, as programs see them: what may be posted, and how it ends.

import type { TcpxError } from '../base/errors.js';
import type { ConnectionCounters } from '../os/connection-counters.js';
import type { Block, BlockColumns, CheckedBlocks } from '../provider/block-columns.js';
import type { SourceEvent } from '../provider/contract.js';
import type { DataPath, ProviderName, TransferPath } from '../provider/receipt.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { Agreement } from '../wire/control-frame.js';
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

/** A prepared request: post it as often as you like, then release it. */
export interface Request {
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
  /** Starts it. Throws `ERR_USAGE_STATE` where the session is not ready. */
  post(options?: PostOptions): Transfer;
  /** Frees its memory, after a deadline as soon as it can; not while `done` is awaited. */
  release(): void;
}

/** What is fixed when the session is made. */
export interface SessionFacts {
  readonly role: 'server' | 'client';
  readonly peerName: string;
  /** 16 hexadecimal digits that the peer chose when it started: tells it from a successor. */
  readonly peerInstance: string;
  /** Address of the control connection. */
  readonly where: string;
  readonly agreement: Agreement;
  readonly path: DataPath;
  /** Interface per channel; empty where routing decides, `shm` where none is used. */
  readonly nics: readonly string[];
  readonly provider: ProviderName;
  /** Why data goes over tcp, or over tcpx. */
  readonly providerReason: string;
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

/** An agent and one peer: the channels between them and what may be posted on them. */
export interface Session {
  /** Peer, agreement and provider. */
  readonly facts: SessionFacts;
  /** Name and address, for people. */
  readonly peer: string;
  /** From attaching to closed, never back. */
  readonly state: SessionState;
  /** Whether something can be posted. */
  readonly isReady: boolean;
  /** Why it ended, once it has. */
  readonly error: TcpxError | undefined;
  /** Resolves when the session has ended and nothing of it is in flight. */
  readonly closed: Promise<void>;

  /** Columns instead of blocks spare an object per block, where there are very many. */
  prepare(operation: 'write' | 'read', blocks: readonly Block[] | BlockColumns): Request;
  /** Prepares, posts and releases when finished: for a transfer that is made once. */
  write(blocks: readonly Block[], options?: PostOptions): Transfer;
  /** The same, from the peer's memory into this one's. */
  read(blocks: readonly Block[], options?: PostOptions): Transfer;
  /** A message without data. */
  notify(message: Uint8Array | string): Transfer;

  /** TCP_INFO of every living channel: a system call for each. Empty over shared memory. */
  kernelCounters(): ChannelCounters[];
  /** Where the helper threads of this end's plugin processes run; those that have been seen. */
  pluginThreads(): readonly ThreadPlacement[];

  /** Says goodbye and gives up what is in flight. */
  close(): Promise<void>;
}
