// A session as its engine has it: the channels, what keeps them, and who holds them. Programs see
// it as a Session.

import { withSignal } from '../base/abort.js';
import {
  checkOneOf,
  checkOptions,
  checkSignal,
  checkText,
  checkTime,
  TIMED_WAIT,
} from '../base/argument.js';
import { TcpxError } from '../base/errors.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import type { SecretBytes } from '../base/secret-bytes.js';
import { stacklessError } from '../base/stackless-error.js';
import type { RegionDescriptor } from '../memory/region.js';
import { readConnection, type SocketIdentity } from '../os/connection-counters.js';
import type { Block, BlockColumns } from '../provider/block-columns.js';
import type { Choice, DataPath, ProviderName } from '../provider/receipt.js';
import type { ChannelPlan } from '../provider/tcp/channel-plan.js';
import type { StrandedChunk } from '../provider/tcp/lane-carrier.js';
import type { ThreadPlacement } from '../provider/tcpx/helper-threads.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import { type Agreement, ControlKind } from '../wire/control-frame.js';
import { type BlockSpec, blockOf } from './block-spec.js';
import type { ControlKeeper, SessionControl } from './control-keeper.js';
import type { LentMemory } from './lent-memory.js';
import { type LookupHost, Lookups } from './lookups.js';
import type { Reconnect } from './new-session.js';
import { applyOptions, checkMessageOptions } from './post-options.js';
import { ProgressWatch } from './progress-watch.js';
import type { Recovery } from './recovery.js';
import type {
  Blocks,
  ChannelCounters,
  ConnectWait,
  LookupOptions,
  PostOptions,
  Session,
  TransferRequest,
} from './session.js';
import { SessionEvents } from './session-events.js';
import type { SessionSharing } from './session-sharing.js';
import { nextSessionState, SessionState } from './session-state.js';
import type { Transfer } from './transfer.js';

/** What a session needs from the engine. */
export interface SessionHost {
  prepare(
    session: LiveSession,
    operation: 'write' | 'read',
    blocks: readonly Block[] | BlockColumns,
    lent: LentMemory,
  ): TransferRequest;
  /** For plain memory of one request. */
  lend(): LentMemory;
  postNotification(session: LiveSession, message: Uint8Array | string): Transfer;
  closeSession(session: LiveSession, error: TcpxError): void;
  nowUs(): number;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
  /** Whether the process stays for the sake of this session. */
  hold(session: LiveSession, isHeld: boolean): void;
  /** How long a peer may take to answer a question. */
  readonly answerMs: number;
  /** Where callers drive: keeps data moving until the promise settles. */
  drive<T>(promise: Promise<T>): Promise<T>;
}

/** What is fixed when the session is made; programs see most of it, by the names of `Session`. */
export interface LiveFacts {
  readonly role: 'server' | 'client';
  readonly peerName: string;
  readonly peerInstance: string;
  /** Address of the peer's end of the control connection. */
  readonly where: string;
  readonly agreement: Agreement;
  /** Both ends share its CPUs. */
  readonly isSameHost: boolean;
  readonly choices: readonly Choice[];
  readonly path: DataPath;
  readonly pathReason: string;
  readonly provider: ProviderName;
  readonly providerReason: string;
  readonly index: number;
  /** Whether frames of its channels carry checks. */
  readonly isChecked: boolean;
  readonly id: number;
  readonly key: SecretBytes;
  /** Changes with the channels. */
  readonly nics: string[];
  readonly plan: ChannelPlan;
}

/** What makes the parts that know their session. */
export interface SessionMakers {
  show(session: LiveSession): Session;
  recover(session: LiveSession): Recovery;
  keep(session: LiveSession): ControlKeeper;
  match(session: LiveSession): MatchedCarrier<LiveSession> | undefined;
}

export class LiveSession {
  readonly facts: LiveFacts;
  /** What programs are given in its place. */
  readonly face: Session;
  readonly sharing: SessionSharing;
  readonly events = new SessionEvents();
  readonly lookups: Lookups;
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
  /** The client's way to the same peer again. */
  reconnect: Reconnect | undefined;
  /** Set where a lost session is made anew by itself. */
  stopReopening: () => void = () => undefined;
  /** Lanes, and a matched carrier, that still hold channels of this session. */
  holders = 0;
  #error: TcpxError | undefined;
  readonly #closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;

  constructor(host: SessionHost, facts: LiveFacts, sharing: SessionSharing, make: SessionMakers) {
    this.#host = host;
    this.facts = facts;
    this.sharing = sharing;
    this.face = make.show(this);
    this.#closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
    this.lookups = new Lookups(this.#lookupHost(), host.answerMs);
    this.recovery = make.recover(this);
    this.keeper = make.keep(this);
    this.matched = make.match(this);
  }

  #lookupHost(): LookupHost {
    const host = this.#host;
    return {
      peer: this.peer,
      nowUs: () => host.nowUs(),
      after: (delayMs, act) => host.after(delayMs, act),
      // Asked again: the connection may come back.
      send: (message) => {
        try {
          if (this.control.isOpen) this.control.send(message);
        } catch {
          // Its keeper has been told.
        }
      },
    };
  }

  async lookup(name: string, options: LookupOptions = {}): Promise<RegionDescriptor> {
    checkText('lookup: the name', name);
    checkOptions('lookup', options, { waitMs: checkTime, signal: checkSignal });
    if (this.isLost('lookup')) throw this.#error ?? new TcpxError('ERR_PEER_LOST', this.peer);
    const { waitMs = 0, signal } = options;
    const found = this.lookups.ask(name, waitMs);
    return await this.#host.drive(withSignal(found, signal, `lookup of ${JSON.stringify(name)}`));
  }

  async reopen(options: ConnectWait = {}): Promise<LiveSession> {
    checkOptions('reopen', options, TIMED_WAIT);
    if (!this.isEnding()) {
      throw new TcpxError('ERR_USAGE_STATE', `reopen: the session with ${this.peer} is open`);
    }
    if (this.reconnect === undefined) {
      const text = `reopen: ${this.peer} has called this end, and can alone do so again`;
      throw new TcpxError('ERR_USAGE_NOT_SUPPORTED', text);
    }
    return await this.#host.drive(this.reconnect(options));
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
  prepare(operation: 'write' | 'read', blocks: Blocks): TransferRequest {
    checkOneOf('prepare: the operation', operation, ['write', 'read']);
    this.isLost('prepare');
    const lent = this.#host.lend();
    try {
      return this.#host.prepare(this, operation, rowsOf(blocks, lent), lent);
    } catch (error) {
      lent.giveBack();
      throw error;
    }
  }

  /** Prepares, posts and releases when finished: for a transfer that is made once. */
  write(blocks: Blocks, options: PostOptions = {}): Transfer {
    return this.#once('write', blocks, options);
  }

  read(blocks: Blocks, options: PostOptions = {}): Transfer {
    return this.#once('read', blocks, options);
  }

  #once(operation: 'write' | 'read', blocks: Blocks, options: PostOptions): Transfer {
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

  notify(message: Uint8Array | string, options?: MessageOptions): Transfer {
    if (options === undefined) return this.#host.postNotification(this, message);
    checkMessageOptions(options);
    const transfer = this.#host.postNotification(this, message);
    applyOptions(transfer, options, 0);
    return transfer;
  }

  /** TCP_INFO of every living channel: a system call for each. Empty over shared memory. */
  kernelCounters(): ChannelCounters[] {
    const { book } = this.recovery;
    return book.up.flatMap((channel) => {
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

  unref(): this {
    this.#host.hold(this, false);
    return this;
  }

  ref(): this {
    if (this.#state !== SessionState.Closed) this.#host.hold(this, true);
    return this;
  }

  /** Says goodbye and gives up what is in flight. */
  async close(): Promise<void> {
    this.stopReopening();
    this.sayGoodbye('closed by its owner');
    this.#host.closeSession(
      this,
      stacklessError('ERR_USAGE_STATE', `${this.peer}: session closed`),
    );
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

  /** Without a control connection nobody can be asked now: it is asked for again later. */
  askRedial(channelIndex: ChannelIndex, epoch: Epoch): void {
    if (!this.control.isOpen) return;
    try {
      this.control.send({ kind: ControlKind.Redial, channelIndex, epoch });
    } catch {
      // The failure of the connection has been told to its keeper.
    }
  }

  /** The server's: whether a control connection with this number may follow. */
  assertControl(epoch: Epoch): void {
    if (!this.isReady) {
      throw new TcpxError('ERR_PEER_STALE_SESSION', `${this.peer}: the session is not open`);
    }
    this.keeper.assertNext(epoch);
  }

  /** A control connection that follows a lost one has proved itself. */
  attachControl(control: SessionControl, epoch: Epoch): void {
    if (this.isEnding()) {
      throw new TcpxError('ERR_PEER_LOST', `${this.peer}: the session ended while attaching`);
    }
    this.keeper.replace(control, epoch);
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
    this.lookups.fail(error);
    return true;
  }

  /** Called by the engine: what the peer did before it said goodbye is the reason. */
  setRuleBroken(error: TcpxError): void {
    this.#error = error;
  }

  /** Called by the engine. */
  setClosed(): void {
    this.#state = nextSessionState(this.#state, SessionState.Closed);
    this.#host.hold(this, false);
    this.#resolveClosed();
    this.events.tellClose(this.#error);
  }
}

type MessageOptions = Pick<PostOptions, 'deadlineMs' | 'signal'>;

function rowsOf(blocks: Blocks, lent: LentMemory): readonly Block[] | BlockColumns {
  if (isColumns(blocks)) return blocks;
  const list: readonly BlockSpec[] = Array.isArray(blocks) ? blocks : [blocks as BlockSpec];
  return list.map((spec, index) => blockOf(spec, index, lent));
}

function isColumns(blocks: Blocks): blocks is BlockColumns {
  // Programs without types pass anything.
  const given: unknown = blocks;
  return typeof given === 'object' && given !== null && 'localOffsets' in given;
}
