// Sessions by index: made by a handshake, spread over lanes, closed once every lane has let go.

import { assert } from '../base/assert.js';
import { type Clock, systemClock } from '../base/clock.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { Timers } from '../base/timers.js';
import { COMMAND_ADD_CHANNEL, COMMAND_CLOSE_SESSION, COMMAND_LOOK } from '../provider/tcp/lane/messages.js';
import type { ShmLink } from '../provider/tcp/shm/shm-file.js';
import { abortSocket, type SocketIdentity } from '../os/connection-counters.js';
import { closeSocket } from '../os/dial.js';
import type { Agreement } from '../wire/control-frame.js';
import { ControlKind, MATCH_INDEX } from '../wire/control-frame.js';
import { ControlKeeper, type ControlLimits, type SessionControl } from './control-keeper.js';
import type { DataPath } from '../provider/receipt.js';
import type { OpenMatch } from '../provider/tcpx/match-connection.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { ProviderChoice } from './provider-choice.js';
import { laneOfChannel } from '../provider/tcp/lane-placement.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import { checkReadsBudget } from './reads-budget.js';
import { Recovery, type RecoveryLimits } from './recovery.js';
import type { RecoveryHost, RedialOutcome } from './recovery-host.js';
import { Session, type SessionHost } from './session.js';

/** What happens to the transfers of a session when its channels come and go. */
export interface SessionTransfers {
  onChannelsChanged(session: Session): void;
  postSignal(session: Session, bytes: Uint8Array): void;
  giveUpStranded(session: Session): void;
  /** Every lane has let go of the session: what is left fails. */
  abandonSession(session: Session): void;
}

/** The client's way to a match connection of an epoch. */
export type ConnectMatch = (epoch: number) => Promise<OpenMatch>;

export interface NewSession {
  /** Number that the server chose, known to both ends. */
  readonly id: number;
  /** Which end this is: the one that was called, or the one that calls. */
  readonly role: 'server' | 'client';
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly agreement: Agreement;
  readonly key: Uint8Array;
  readonly control: SessionControl;
  readonly path: DataPath;
  readonly choice: ProviderChoice;
  /** The client's way to a match connection. */
  readonly connectMatch?: (session: Session, epoch: number) => Promise<OpenMatch>;
  /** The client's way to attach a channel anew. */
  readonly redial?: (session: Session, channel: number, epoch: number) => Promise<RedialOutcome>;
  /** The client's way to a control connection that follows a lost one. */
  readonly attachControl?: (session: Session, epoch: number) => Promise<RedialOutcome>;
}

/** A data connection that has proved itself. */
export interface NewChannel {
  readonly channel: number;
  readonly epoch: number;
  readonly fd: number;
  readonly nic: string;
  /** Where its bytes go instead of through the socket. */
  readonly link?: ShmLink | undefined;
  readonly socket?: SocketIdentity;
}

/** What the table needs from the engine. */
export interface SessionTableOptions {
  readonly lanes: LaneSet;
  readonly sessionsMax: number;
  /** What the reads of all peers may take; no limit without. */
  readonly readsBytesMax?: number;
  readonly nicCount: number;
  readonly log: Log;
  readonly timers: Timers;
  readonly limits: RecoveryLimits & ControlLimits;
  /** The system's, and sockets, unless a simulation has its own. */
  readonly clock?: Clock;
  readonly closeConnection?: (fd: number) => void;
}

export class SessionTable {
  readonly #options: SessionTableOptions;
  readonly #clock: Clock;
  readonly #closeConnection: (fd: number) => void;
  readonly #broken: LimitedLog;
  readonly #byIndex: (Session | undefined)[] = [];
  /** Set once by the engine, before any session exists. */
  host: SessionHost | undefined;
  transfers: SessionTransfers | undefined;
  /** Where the tcpx provider is open. */
  openMatched:
    | ((session: Session, connect: ConnectMatch | undefined) => MatchedCarrier<Session>)
    | undefined;

  constructor(options: SessionTableOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#broken = new LimitedLog(options.log, this.#clock);
    this.#closeConnection = options.closeConnection ?? closeSocket;
  }

  /** Of a connection that has an owner no more. */
  closeConnection(fd: number): void {
    this.#closeConnection(fd);
  }

  list(): Session[] {
    return this.#byIndex.filter((session) => session !== undefined);
  }

  at(index: number): Session | undefined {
    return this.#byIndex[index];
  }

  /** Numbers are this engine's own choice only where it is the server. */
  byId(id: number): Session | undefined {
    return this.list().find(({ facts }) => facts.id === id && facts.role === 'server');
  }

  create(options: NewSession): Session {
    const index = this.#freeIndex();
    const { lanes, nicCount, readsBytesMax = Number.POSITIVE_INFINITY } = this.#options;
    const others = this.list().map(({ facts }) => facts.agreement);
    checkReadsBudget(options.agreement, others, readsBytesMax);
    if (this.host === undefined) throw new TcpxError('ERR_USAGE_STATE', 'engine is not open');
    const { control, peerGeneration, redial, attachControl, connectMatch, choice, ...given } =
      options;
    const channelLanes = Array.from({ length: given.agreement.channels }, (_, channel) =>
      laneOfChannel(index, channel, lanes.count, nicCount),
    );
    const facts = {
      ...given,
      provider: choice.provider,
      providerReason: choice.reason,
      index,
      peerInstance: Buffer.from(peerGeneration).toString('hex'),
      where: control.where,
      nics: channelLanes.map(() => ''),
      lanes: [...new Set(channelLanes)],
    };
    const session = new Session(
      this.host,
      facts,
      (made) => this.#recoveryOf(made, channelLanes, redial),
      (made) => this.#keeperOf(made, control, attachControl),
      (made) => this.#matchedOf(made, connectMatch),
    );
    session.holders = facts.lanes.length + (session.matched === undefined ? 0 : 1);
    this.#byIndex[index] = session;
    return session;
  }

  #matchedOf(session: Session, connect: NewSession['connectMatch']) {
    if (session.facts.provider !== 'tcpx') return undefined;
    assert(this.openMatched !== undefined, 'an end that offers tcpx has the provider open');
    return this.openMatched(session, connect && ((epoch) => connect(session, epoch)));
  }

  #recoveryOf(session: Session, lanes: readonly number[], redial: NewSession['redial']): Recovery {
    const { log, timers, limits } = this.#options;
    const host: RecoveryHost = {
      log,
      timers,
      peer: session.peer,
      nowUs: () => this.#clock.nowUs(),
      command: (lane, kind, words) => this.#options.lanes.command(lane, kind, words),
      postSignal: (bytes) => this.#postSignal(session, bytes),
      onChannelsChanged: () => this.transfers?.onChannelsChanged(session),
      lose: (error) => this.close(session, error),
      redial:
        redial === undefined ? undefined : (channel, epoch) => redial(session, channel, epoch),
      askRedial: (channel, epoch) => this.askRedial(session, channel, epoch),
      onControlLost: (epoch) => session.keeper.onMissed(epoch),
    };
    return new Recovery(host, session.facts.index, lanes, limits);
  }

  #keeperOf(
    session: Session,
    first: SessionControl,
    attach: NewSession['attachControl'],
  ): ControlKeeper {
    const { log, timers, limits } = this.#options;
    const { recovery, peer } = session;
    return new ControlKeeper(
      {
        log,
        timers,
        peer,
        limits,
        nowUs: () => this.#clock.nowUs(),
        attach: attach === undefined ? undefined : (epoch) => attach(session, epoch),
        postSignal: (bytes) => this.#postSignal(session, bytes),
        onRedial: (channel, epoch) => {
          if (channel === MATCH_INDEX) session.matched?.epochs.onAgain();
          else recovery.onRedialAsked(channel, epoch);
        },
        onPeerEnded: (error) => recovery.onPeerEnded(error),
        onPeerBack: () => recovery.onPeerBack(),
        lose: (error) => this.close(session, error),
      },
      first,
    );
  }

  // Without a control connection nobody can be asked now: it is asked for again later.
  askRedial(session: Session, channelIndex: number, epoch: number): void {
    if (!session.control.isOpen) return;
    try {
      session.control.send({ kind: ControlKind.Redial, channelIndex, epoch });
    } catch {
      // The failure of the connection has been told to its keeper.
    }
  }

  /** The server's: whether a control connection with this number may follow. */
  assertControl(session: Session, epoch: number): void {
    if (!session.isReady) {
      throw new TcpxError('ERR_PEER_STALE_SESSION', `${session.peer}: the session is not open`);
    }
    session.keeper.assertNext(epoch);
  }

  /** A control connection that follows a lost one has proved itself. */
  attachControl(session: Session, control: SessionControl, epoch: number): void {
    if (session.isEnding()) {
      throw new TcpxError('ERR_PEER_LOST', `${session.peer}: the session ended while attaching`);
    }
    session.keeper.replace(control, epoch);
  }

  // Without room for a fence nothing can be settled: better no session than one that hangs.
  #postSignal(session: Session, bytes: Uint8Array): void {
    try {
      this.transfers?.postSignal(session, bytes);
    } catch (error) {
      this.close(session, toTcpxError(error, 'ERR_SYS_CALL', `${session.peer}: fence`));
    }
  }

  #freeIndex(): number {
    let index = this.#byIndex.indexOf(undefined);
    if (index < 0) index = this.#byIndex.length;
    const { sessionsMax } = this.#options;
    if (index < sessionsMax) return index;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `${sessionsMax} sessions are open, session.peersMax allows no more`,
    );
  }

  /** A peer attaches a channel anew: its old connection is closed at this end first. */
  async makeRoom(session: Session, channel: number, epoch: number): Promise<void> {
    const { book } = session.recovery;
    do {
      // Each epoch is used once: a recorded ATTACH cannot be played again.
      if (epoch <= book.epoch(channel)) {
        throw new TcpxError(
          'ERR_WIRE_STATE',
          `channel ${channel} has had epoch ${book.epoch(channel)}: ${epoch} is too late`,
        );
      }
      await session.recovery.clear(channel);
      if (session.isEnding()) {
        throw new TcpxError('ERR_PEER_STALE_SESSION', `${session.peer}: the session has ended`);
      }
      // Another attempt may have come in meanwhile: the later one counts.
    } while (epoch <= book.epoch(channel) || book.isUp(channel));
  }

  /** Hands a connected data socket to its lane; true when it was the last that was lacking. */
  addChannel(session: Session, { channel, epoch, fd, nic, link, socket }: NewChannel): boolean {
    const { index, agreement, nics } = session.facts;
    const { book } = session.recovery;
    // It may have ended while this connection proved itself; its index may have a new owner.
    if (session.isEnding() || book.isUp(channel)) {
      this.#closeConnection(fd);
      link?.unmap();
      throw new TcpxError('ERR_PEER_LOST', `${session.peer}: the session ended while attaching`);
    }
    nics[channel] = link === undefined ? nic : 'shm';
    session.sockets[channel] = socket;
    const { windowChunks, chunkBytes, channels } = agreement;
    const place = link?.toWords() ?? [0, 0, 0];
    const words = [fd, index, channel, epoch, windowChunks, chunkBytes, channels, ...place];
    this.#options.lanes.command(book.lane(channel), COMMAND_ADD_CHANNEL, words);
    session.recovery.onAttached(channel, epoch);
    if (session.isReady) this.transfers?.onChannelsChanged(session);
    if (session.isReady || !book.isWhole) return false;
    this.#setReady(session);
    return true;
  }

  #setReady(session: Session): void {
    session.setReady();
    this.#options.log.info('session ready', {
      peer: session.peer,
      channels: session.facts.agreement.channels,
      chunkBytes: session.facts.agreement.chunkBytes,
    });
    session.keeper.watch();
  }

  /** A rule of the data channel was broken: that is the reason, though a goodbye came after it. */
  onRuleBroken(session: Session, error: TcpxError): void {
    this.close(session, error);
    if (session.error?.code !== 'ERR_PEER_GOODBYE') return;
    session.setRuleBroken(error);
    this.#logClosing(session, error);
  }

  // A peer that breaks a rule is somebody's fault, and one that may do so again and again.
  #logClosing(session: Session, error: TcpxError): void {
    const { peer } = session;
    const fields = { peer, code: error.code, reason: error.message };
    if (error.code.startsWith('ERR_WIRE_')) this.#broken.warn('session closing', fields);
    else this.#options.log.info('session closing', fields);
  }

  /** Begins the end: lanes give up what is in flight and answer. */
  close(session: Session, error: TcpxError): void {
    // Otherwise the peer would see its connections end, and not know what it did.
    if (error.code.startsWith('ERR_WIRE_')) session.sayGoodbye(toldOf(session, error));
    if (!session.setClosing(error)) return;
    this.#logClosing(session, error);
    session.recovery.stop();
    session.keeper.stop();
    this.transfers?.giveUpStranded(session);
    void session.matched?.end(error).then(() => this.onLaneClosed(session.facts.index));
    for (const lane of session.facts.lanes) {
      if (this.#options.lanes.isAlive(lane)) {
        // It does not hide what was done before it.
        const isGoodbye = error.code === 'ERR_PEER_GOODBYE';
        if (isGoodbye) this.#options.lanes.command(lane, COMMAND_LOOK, [session.facts.index]);
        this.#options.lanes.command(lane, COMMAND_CLOSE_SESSION, [session.facts.index]);
      } else {
        this.onLaneClosed(session.facts.index);
      }
    }
  }

  /** A thread has died: what it served ends, once the other lanes have let go as well. */
  onLaneFailed(laneIndex: number, error: TcpxError): void {
    for (const session of this.list()) {
      if (!session.isEnding()) {
        // First: the peer shall not take the end of the connections for the reason.
        session.sayGoodbye('a lane has failed');
        this.#abortSockets(session, laneIndex);
        this.close(session, error);
      } else if (session.facts.lanes.includes(laneIndex)) {
        this.#abortSockets(session, laneIndex);
        this.onLaneClosed(session.facts.index);
      }
    }
  }

  // Nobody else closes them, and the kernel might send from memory that is about to be free.
  #abortSockets(session: Session, laneIndex: number): void {
    const { book } = session.recovery;
    for (const [channel, socket] of session.sockets.entries()) {
      if (socket !== undefined && book.lane(channel) === laneIndex) abortSocket(socket);
    }
  }

  /** A lane, or the matched carrier, has let go of the session. */
  onLaneClosed(index: number): void {
    const session = this.#byIndex[index];
    if (session === undefined) return;
    session.holders--;
    if (session.holders > 0) return;
    this.#byIndex[index] = undefined;
    this.transfers?.abandonSession(session);
    session.setClosed();
  }
}

// Who we are, it knows.
function toldOf(session: Session, error: TcpxError): string {
  return `${error.code}: ${error.message.replaceAll(session.peer, 'you')}`;
}
