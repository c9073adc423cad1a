// An agent and one peer: the channels between them and what may be posted on them.

import { TcpxError } from '../base/errors.js';
import {
  type ConnectionCounters,
  readConnection,
  type SocketIdentity,
} from '../os/connection-counters.js';
import type { Agreement } from '../wire/control-frame.js';
import { ControlKind } from '../wire/control-frame.js';
import type { ControlKeeper, SessionControl } from './control-keeper.js';
import type { Recovery } from './recovery.js';
import type { Block, BlockColumns, CheckedBlocks } from '../provider/block-columns.js';
import { SessionState, nextSessionState } from './session-state.js';
import type { Transfer } from './transfer.js';
import type { SourceEvent } from '../provider/contract.js';
import type { DataPath, ProviderName, TransferPath } from '../provider/receipt.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { StrandedChunk } from '../provider/tcp/lane-carrier.js';

export interface PostOptions {
  /** Delivered to the peer after every byte has landed. */
  readonly notify?: Uint8Array | string;
  readonly deadlineMs?: number;
  /** CUDA event of this process after which the source may be read; for writes. */
  readonly sourceReady?: SourceEvent;
  /** Cancels the transfer when aborted. */
  readonly signal?: AbortSignal;
}

/** What a session needs from the engine. */
export interface SessionHost {
  prepare(
    session: Session,
    operation: 'write' | 'read',
    blocks: readonly Block[] | BlockColumns,
  ): Request;
  postNotification(session: Session, message: Uint8Array | string): Transfer;
  closeSession(session: Session, error: TcpxError): void;
  /** Where callers drive: keeps data moving until the promise settles. */
  drive<T>(promise: Promise<T>): Promise<T>;
}

/** A prepared request: post it as often as you like, then release it. */
export interface Request {
  readonly session: Session;
  readonly operation: 'write' | 'read';
  readonly blocks: CheckedBlocks;
  readonly chunkCount: number;
  /** How its bytes will go, as the receipts name it. */
  readonly path: TransferPath;
  post(options?: PostOptions): Transfer;
  /** Frees its memory; not while a transfer of it is in flight. */
  release(): void;
}

export interface SessionFacts {
  readonly index: number;
  readonly id: number;
  readonly role: 'server' | 'client';
  readonly peerName: string;
  /** 16 hexadecimal digits that the peer chose when it started: tells it from a successor. */
  readonly peerInstance: string;
  /** Address of the control connection. */
  readonly where: string;
  readonly agreement: Agreement;
  readonly key: Uint8Array;
  readonly path: DataPath;
  /** Interface per channel; empty where routing decides, `shm` where none is used. */
  readonly nics: string[];
  readonly provider: ProviderName;
  /** Why data goes over tcp, or over tcpx. */
  readonly providerReason: string;
  /** Lanes that serve at least one channel. */
  readonly lanes: readonly number[];
}

/** What the kernel counted on the connection of a channel. */
export interface ChannelCounters extends ConnectionCounters {
  readonly channel: number;
  readonly nic: string;
  /** Which connection of the channel: another one has counted anew. */
  readonly epoch: number;
}

export class Session {
  readonly facts: SessionFacts;
  readonly #host: SessionHost;
  #state: SessionState = SessionState.Attaching;
  /** What lives of its channels; set when the session is made. */
  readonly recovery: Recovery;
  readonly keeper: ControlKeeper;
  /** Carries what a plugin can reach, where both ends agreed on tcpx. */
  readonly matched: MatchedCarrier<Session> | undefined;
  /** Chunks (−1: the notification) that wait for a channel. */
  readonly stranded: StrandedChunk[] = [];
  /** By channel, the last one that was handed to its lane. */
  readonly sockets: (SocketIdentity | undefined)[] = [];
  /** Lanes, and a matched carrier, that still hold channels of this session. */
  holders = 0;
  #error: TcpxError | undefined;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;

  constructor(
    host: SessionHost,
    facts: SessionFacts,
    recover: (session: Session) => Recovery,
    keep: (session: Session) => ControlKeeper,
    match: (session: Session) => MatchedCarrier<Session> | undefined,
  ) {
    this.#host = host;
    this.facts = facts;
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.recovery = recover(this);
    this.keeper = keep(this);
    this.matched = match(this);
  }

  /** The control connection, as it is now. */
  get control(): SessionControl {
    return this.keeper.current;
  }

  /** Name and address, for people. */
  get peer(): string {
    return `${this.facts.peerName} (${this.facts.where})`;
  }

  get state(): SessionState {
    return this.#state;
  }

  get isReady(): boolean {
    return this.#state === SessionState.Ready;
  }

  /** Its end was seen or asked for. */
  isEnding(): boolean {
    return this.#state === SessionState.Closing || this.#state === SessionState.Closed;
  }

  get error(): TcpxError | undefined {
    return this.#error;
  }

  /** Resolves when the session has ended and nothing of it is in flight. */
  get closed(): Promise<void> {
    return this.#closed;
  }

  /** Columns instead of blocks spare an object per block, where there are very many. */
  prepare(operation: 'write' | 'read', blocks: readonly Block[] | BlockColumns): Request {
    this.#assertReady();
    return this.#host.prepare(this, operation, blocks);
  }

  /** Prepares, posts and releases when finished: for a transfer that is made once. */
  write(blocks: readonly Block[], options: PostOptions = {}): Transfer {
    return this.#once('write', blocks, options);
  }

  read(blocks: readonly Block[], options: PostOptions = {}): Transfer {
    return this.#once('read', blocks, options);
  }

  #once(operation: 'write' | 'read', blocks: readonly Block[], options: PostOptions): Transfer {
    const request = this.prepare(operation, blocks);
    const release = (): void => request.release();
    try {
      const transfer = request.post(options);
      transfer.done.then(release, release);
      return transfer;
    } catch (error) {
      release();
      throw error;
    }
  }

  notify(message: Uint8Array | string): Transfer {
    this.#assertReady();
    return this.#host.postNotification(this, message);
  }

  /** TCP_INFO of every living channel: a system call for each. Empty over shared memory. */
  kernelCounters(): ChannelCounters[] {
    const { book } = this.recovery;
    return book.living.flatMap((channel) => {
      const nic = this.facts.nics[channel] ?? '';
      const socket = nic === 'shm' ? undefined : this.sockets[channel];
      const counters = socket === undefined ? undefined : readConnection(socket);
      return counters === undefined
        ? []
        : [{ channel, nic, epoch: book.epoch(channel), ...counters }];
    });
  }

  /** Where the helper threads of this end's plugin processes run; those that have been seen. */
  pluginThreads(): readonly ThreadPlacement[] {
    const { matched } = this;
    return matched?.epochs.state === 'ready' ? matched.epochs.set.placements() : [];
  }

  /** Says goodbye and gives up what is in flight. */
  async close(): Promise<void> {
    this.sayGoodbye('closed by its owner');
    this.#host.closeSession(this, new TcpxError('ERR_USAGE_STATE', `${this.peer}: session closed`));
    await this.#host.drive(this.#closed);
  }

  /** A peer that has gone meanwhile needs none: the session is closed all the same. */
  sayGoodbye(reason: string): void {
    if (this.#state !== SessionState.Ready || !this.control.isOpen) return;
    try {
      this.control.send({ kind: ControlKind.Goodbye, reason });
    } catch {
      // The failure of the connection has been told to its owner.
    }
  }

  #assertReady(): void {
    if (this.#state === SessionState.Ready) return;
    const why = this.#error === undefined ? '' : `: ${this.#error.message}`;
    throw new TcpxError('ERR_USAGE_STATE', `session with ${this.peer} is ${this.#state}${why}`, {
      ...(this.#error === undefined ? {} : { cause: this.#error }),
    });
  }

  /** Called by the engine. */
  setReady(): void {
    this.#state = nextSessionState(this.#state, SessionState.Ready);
  }

  /** Called by the engine; false when the end is known already. */
  setClosing(error: TcpxError): boolean {
    if (this.isEnding()) return false;
    this.#state = nextSessionState(this.#state, SessionState.Closing);
    this.#error = error;
    return true;
  }

  /** Called by the engine: what the peer did before it said goodbye is the reason. */
  setRuleBroken(error: TcpxError): void {
    this.#error = error;
  }

  /** Called by the engine. */
  setClosed(): void {
    this.#state = nextSessionState(this.#state, SessionState.Closed);
    this.#resolveClosed();
  }
}
