// A session as its engine has it: the channels, what keeps them, and who holds them. Programs see
// it as a Session.

import { assert } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import { readConnection, type SocketIdentity } from '../os/connection-counters.js';
import { ControlKind } from '../wire/control-frame.js';
import type { ControlKeeper, SessionControl } from './control-keeper.js';
import { ProgressWatch } from './progress-watch.js';
import type { Recovery } from './recovery.js';
import type { Block, BlockColumns } from '../provider/block-columns.js';
import type { ChannelCounters, PostOptions, Request, Session, SessionFacts } from './session.js';
import { SessionState, nextSessionState } from './session-state.js';
import type { Transfer } from './transfer.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { StrandedChunk } from '../provider/tcp/lane-carrier.js';

/** What a session needs from the engine. */
export interface SessionHost {
  prepare(
    session: LiveSession,
    operation: 'write' | 'read',
    blocks: readonly Block[] | BlockColumns,
  ): Request;
  postNotification(session: LiveSession, message: Uint8Array | string): Transfer;
  closeSession(session: LiveSession, error: TcpxError): void;
  /** Where callers drive: keeps data moving until the promise settles. */
  drive<T>(promise: Promise<T>): Promise<T>;
}

export interface LiveFacts extends SessionFacts {
  readonly index: number;
  /** Whether frames of its channels carry checks. */
  readonly isChecked: boolean;
  readonly id: number;
  readonly key: Uint8Array;
  /** Changes with the channels. */
  readonly nics: string[];
  /** Lanes that serve at least one channel. */
  readonly lanes: readonly number[];
}

export class LiveSession implements Session {
  readonly facts: LiveFacts;
  readonly #host: SessionHost;
  #state: SessionState = SessionState.Attaching;
  /** What lives of its channels; set when the session is made. */
  readonly recovery: Recovery;
  readonly keeper: ControlKeeper;
  /** Carries what a plugin can reach, where both ends agreed on tcpx. */
  readonly matched: MatchedCarrier<LiveSession> | undefined;
  /** Chunks (−1: the notification) that wait for a channel. */
  readonly stranded: StrandedChunk[] = [];
  /** By channel, the last one that was handed to its lane. */
  readonly sockets: (SocketIdentity | undefined)[] = [];
  /** Whether it confirms what is in flight on it. */
  readonly progress = new ProgressWatch();
  /** Lanes, and a matched carrier, that still hold channels of this session. */
  holders = 0;
  #error: TcpxError | undefined;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;

  constructor(
    host: SessionHost,
    facts: LiveFacts,
    recover: (session: LiveSession) => Recovery,
    keep: (session: LiveSession) => ControlKeeper,
    match: (session: LiveSession) => MatchedCarrier<LiveSession> | undefined,
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
    this.isLost('prepare');
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
      void transfer.released.then(release);
      return transfer;
    } catch (error) {
      release();
      throw error;
    }
  }

  notify(message: Uint8Array | string): Transfer {
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

  /**
   * Whether the peer is lost: what is posted then fails as what was in flight did. Throws where it
   * is this end's own doing that nothing can be posted.
   */
  isLost(attempted: string): boolean {
    if (this.#state === SessionState.Ready) return false;
    const error = this.#error;
    if (error !== undefined && error.code !== 'ERR_USAGE_STATE') return true;
    const why = error === undefined ? '' : `: ${error.message}`;
    const message = `${attempted}: session with ${this.peer} is ${this.#state}${why}`;
    throw new TcpxError('ERR_USAGE_STATE', message, error === undefined ? {} : { cause: error });
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

  /** Called by the engine. */
  setClosed(): void {
    this.#state = nextSessionState(this.#state, SessionState.Closed);
    this.#resolveClosed();
  }
}

/** The same object: an engine makes no other sessions. */
export function liveSession(session: Session): LiveSession {
  assert(session instanceof LiveSession, 'a session comes from an engine');
  return session;
}
