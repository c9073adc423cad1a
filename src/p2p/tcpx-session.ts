// Sessions in two roles, the C++ TcpxSession: a server listens and accepts, a client loads how the
// server is reached and connects. Which of the two it is follows from the first call and stays.

import { inspect } from 'node:util';
import { AbortError, onAbort, throwIfAborted } from '../base/abort.js';
import {
  checkLog,
  checkOneOf,
  checkOptions,
  checkRecord,
  checkSignal,
  checkText,
  TIMED_WAIT,
  type TimedWait,
  timedWaitOf,
} from '../base/argument.js';
import { afterMs } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { plural } from '../base/units.js';
import { type ConnInfo, formatConnInfo, parseConnInfo } from '../engine/conn-info.js';
import { Engine } from '../engine/engine.js';
import type { DeregisterOptions } from '../engine/engine-options.js';
import type { Session } from '../engine/session.js';
import type { RegionSource } from '../memory/region.js';
import type { PageKind, RegionMemory } from '../os/region-memory.js';
import { type MemoryHandle, MemoryTable, type MemoryUse } from './memory-table.js';
import { P2pPeer } from './p2p-peer.js';
import { TcpxTransfer } from './tcpx-transfer.js';

/** What a session has become: it accepts, or it connects, never both. */
export type Role = 'none' | 'server' | 'client';

/** What `TcpxSession.open` takes; everything has a default. */
export interface TcpxSessionOptions {
  /** How peers name this end in accept; host name and process id by default. */
  readonly name?: string;
  /** Settings by name, over those of the environment. */
  readonly settings?: Partial<SettingValues>;
  /** Instead of lines on stderr. */
  readonly log?: Log;
  /** Ends the wait for its start with an `AbortError`; one that is open does not hear it. */
  readonly signal?: AbortSignal;
  /**
   * Module that stands in for the CUDA driver, for tests.
   * @internal
   */
  readonly gpuModule?: URL;
}

const ACCEPT_TIMEOUT_MS = 30_000;
const OPEN_OPTIONS = {
  ...{ name: checkText, settings: checkRecord, log: checkLog, signal: checkSignal },
  gpuModule: checkRecord,
};

/**
 * Sends and receives that match by order, between a server and its clients.
 * @example
 * const client = await TcpxSession.open({ name: 'client' });
 * client.loadRemoteConnInfo('server', info);
 * await client.connect('server');
 */
export class TcpxSession {
  readonly #engine: Engine;
  readonly #memory = new MemoryTable();
  readonly #peers: Map<string, P2pPeer>;
  readonly #arrivals: Arrivals;
  readonly #infos = new Map<string, ConnInfo>();
  #role: Role = 'none';
  #isClosed = false;

  private constructor(engine: Engine, peers: Map<string, P2pPeer>, arrivals: Arrivals) {
    this.#engine = engine;
    this.#peers = peers;
    this.#arrivals = arrivals;
  }

  /** Starts one, with an engine of its own. */
  static async open(options: TcpxSessionOptions = {}): Promise<TcpxSession> {
    checkOptions('TcpxSession.open', options, OPEN_OPTIONS);
    const peers = new Map<string, P2pPeer>();
    const arrivals = new Arrivals();
    const bySession = new Map<Session, P2pPeer>();
    const hasRoom = (): boolean => engine.hasRoom;
    const toPeer = (session: Session): P2pPeer => {
      const offersMax = engine.config.values['session.offersMax'];
      return peerOf(bySession, session, offersMax, hasRoom);
    };
    const engine = await Engine.open({
      ...options,
      onSession: (session) => arrivals.add(toPeer(session)),
      onNotification: ({ session, bytes }) => toPeer(session).onMessage(bytes),
      onActivity: () => {
        for (const peer of bySession.values()) peer.proceed();
      },
    });
    arrivals.toPeer = toPeer;
    return new TcpxSession(engine, peers, arrivals);
  }

  /** Name that peers see. */
  get name(): string {
    return this.#engine.name;
  }

  /** What it has become. */
  get role(): Role {
    return this.#role;
  }

  /** Data connections that this end wishes for; with a peer that wishes for fewer, those. */
  get numChannels(): number {
    return this.#engine.config.values['flow.channels'];
  }

  /** Server, first step: how clients reach this end, as text to hand over. */
  listen(): string {
    this.#take('server', 'listen');
    const port = this.#engine.config.effective.find(({ name }) => name === 'session.port');
    this.#engine.listen(port?.origin === 'default' ? { port: 0 } : {});
    return formatConnInfo(this.#engine.connInfo());
  }

  /**
   * Server, second step: waits for the client of that name, 30 s by default. Rejects with
   * `ERR_PEER_TIMEOUT`, or with an `AbortError` when the signal says so.
   */
  async accept(remoteName: string, options: number | TimedWait = {}): Promise<void> {
    checkText('accept: the name', remoteName);
    const { timeoutMs = ACCEPT_TIMEOUT_MS, signal } = timedWaitOf('accept', options);
    if (this.#isClosed) throw new TcpxError('ERR_USAGE_STATE', 'accept: the session is closed');
    if (this.#role !== 'server') throw wrongOrder('accept', 'listen');
    this.#assertNew(remoteName, 'accept');
    throwIfAborted(signal, `accept ${remoteName}`);
    const arrival = this.#arrivals.next(remoteName, timeoutMs, signal);
    const peer = await this.#engine.drive(arrival);
    this.#peers.set(remoteName, peer);
  }

  /** Client, first step. The text is checked; nothing is connected yet. */
  loadRemoteConnInfo(remoteName: string, info: string): void {
    checkText('loadRemoteConnInfo: the name', remoteName);
    const parsed = parseConnInfo(info);
    this.#take('client', 'loadRemoteConnInfo');
    this.#infos.set(remoteName, parsed);
  }

  /** Client, second step: tries the addresses of the server in turn, each for the time given. */
  async connect(remoteName: string, options: TimedWait = {}): Promise<void> {
    checkText('connect: the name', remoteName);
    checkOptions('connect', options, TIMED_WAIT);
    const info = this.#infos.get(remoteName);
    if (info === undefined) throw wrongOrder('connect', 'loadRemoteConnInfo');
    this.#assertNew(remoteName, 'connect');
    let failure: unknown;
    for (const host of info.hosts) {
      try {
        const session = await this.#engine.connect(host, { ...options, port: info.port });
        await this.#checkInstance(session, info, remoteName);
        this.#peers.set(remoteName, this.#arrivals.toPeer(session));
        return;
      } catch (error) {
        failure = error;
        throwIfAborted(options.signal, `connect to ${remoteName}`);
      }
    }
    throw failure;
  }

  /** What is pending with that peer fails as unmatched, or with the loss of the session. */
  async disconnect(remoteName: string): Promise<void> {
    checkText('disconnect: the name', remoteName);
    const peer = this.#peers.get(remoteName);
    this.#peers.delete(remoteName);
    if (peer !== undefined) await this.#engine.drive(peer.session.close());
  }

  /** Page-aligned memory; where a plugin is open, it reaches this host memory and no other. */
  allocateMemory(bytes: number, pages: PageKind = 'auto'): RegionMemory {
    return this.#engine.allocate(bytes, pages);
  }

  /** Registers memory; the number names it in posts. */
  registerMemory(source: RegionSource, use: MemoryUse = 'both'): number {
    checkOneOf('registerMemory: use', use, ['send', 'receive', 'both']);
    // No rights: peers reach it only through the receives that are posted on it.
    return this.#memory.add(this.#engine.register(source, { read: false, write: false }), use);
  }

  /**
   * Takes it back. Rejects with `ERR_USAGE_REGION_BUSY` while operations use it, after `waitMs` or
   * as long as peers can hold memory, or with an `AbortError`.
   */
  async deregisterMemory(id: number, options: number | DeregisterOptions = {}): Promise<void> {
    const { region } = this.#memory.get(id);
    await this.#engine.deregister(region, options);
    this.#memory.remove(id);
  }

  /** What is known about a number. Throws `ERR_USAGE_NOT_FOUND`. */
  getMemoryHandle(id: number): MemoryHandle {
    return this.#memory.get(id);
  }

  /** A group of sends and receives with one peer. */
  createTransfer(remoteName: string): TcpxTransfer {
    checkText('createTransfer: the name', remoteName);
    const peer = this.#peers.get(remoteName);
    if (peer !== undefined) return new TcpxTransfer(this.#engine, this.#memory, peer);
    throw new TcpxError('ERR_USAGE_NOT_FOUND', `createTransfer: ${remoteName} is not connected`);
  }

  /** A line: its name, what it has become, its peers. */
  [inspect.custom](): string {
    return `TcpxSession { ${this.name}, role ${this.role}, ${plural(this.#peers.size, 'peer')} }`;
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Ends it; what has no counterpart fails with `ERR_XFER_UNMATCHED`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#arrivals.end(new TcpxError('ERR_USAGE_STATE', 'accept: the session was closed'));
    await this.#engine.close();
  }

  #take(role: 'server' | 'client', attempted: string): void {
    if (this.#role !== 'none' && this.#role !== role) {
      throw new TcpxError('ERR_USAGE_STATE', `${attempted}: this session is a ${this.#role}`);
    }
    this.#role = role;
  }

  #assertNew(remoteName: string, attempted: string): void {
    const peer = this.#peers.get(remoteName);
    if (peer?.session.isReady !== true) return;
    throw new TcpxError('ERR_USAGE_STATE', `${attempted}: ${remoteName} is connected already`);
  }

  async #checkInstance(session: Session, info: ConnInfo, remoteName: string): Promise<void> {
    if (session.peerInstance === info.instance) return;
    await this.#engine.drive(session.close());
    throw new TcpxError('ERR_PEER_LOST', `connect to ${remoteName}: another process answers there`);
  }
}

interface Acceptor {
  resolve(peer: P2pPeer): void;
  fail(error: TcpxError): void;
}

/** Clients that have come and were not accepted yet, and who waits for which. */
class Arrivals {
  toPeer: (session: Session) => P2pPeer = () => {
    throw new TcpxError('ERR_USAGE_STATE', 'the session is not open yet');
  };
  readonly #waiting = new Map<string, P2pPeer>();
  readonly #acceptors = new Map<string, Acceptor>();

  add(peer: P2pPeer): void {
    const acceptor = this.#acceptors.get(peer.name);
    this.#acceptors.delete(peer.name);
    if (acceptor === undefined) this.#waiting.set(peer.name, peer);
    else acceptor.resolve(peer);
  }

  /** Nobody comes any more. */
  end(error: TcpxError): void {
    for (const acceptor of this.#acceptors.values()) acceptor.fail(error);
  }

  next(name: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<P2pPeer> {
    const known = this.#waiting.get(name);
    this.#waiting.delete(name);
    if (known?.session.isReady === true) return Promise.resolve(known);
    if (this.#acceptors.has(name)) {
      throw new TcpxError('ERR_USAGE_STATE', `accept: ${name} is waited for already`);
    }
    return new Promise((resolve, reject) => {
      const end = (): void => {
        stopTimer();
        release();
      };
      const fail = (error: TcpxError): void => {
        end();
        this.#acceptors.delete(name);
        reject(error);
      };
      const abort = (): void => {
        if (signal !== undefined)
          fail(new AbortError(`accept ${name}: aborted by its signal`, signal));
      };
      const stopTimer = afterMs(timeoutMs, () => {
        fail(new TcpxError('ERR_PEER_TIMEOUT', `accept ${name}: not here in ${timeoutMs} ms`));
      });
      const release = onAbort(signal, abort);
      const arrive = (peer: P2pPeer): void => {
        end();
        resolve(peer);
      };
      this.#acceptors.set(name, { resolve: arrive, fail });
    });
  }
}

function peerOf(
  bySession: Map<Session, P2pPeer>,
  session: Session,
  offersMax: number,
  hasRoom: () => boolean,
): P2pPeer {
  const known = bySession.get(session);
  if (known !== undefined) return known;
  const peer = new P2pPeer(session.peerName, session, offersMax, hasRoom);
  bySession.set(session, peer);
  void session.closed.then(() => bySession.delete(session));
  return peer;
}

function wrongOrder(attempted: string, first: string): TcpxError {
  return new TcpxError('ERR_USAGE_STATE', `${attempted}: call ${first} first`);
}
