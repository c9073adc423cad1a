// Sessions by index: made by a handshake, spread over lanes, closed once every lane has let go.

import { assert } from '../base/assert.js';
import { type Clock, systemClock } from '../base/clock.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { ChannelIndex, Epoch, LaneIndex } from '../base/quantity.js';
import { SecretBytes } from '../base/secret-bytes.js';
import { abortSocket } from '../os/connection-counters.js';
import { closeSocket } from '../os/dial.js';
import { loadCrc32 } from '../os/fixed-memory.js';
import { type ChannelPlan, channelPlan, whoseChannel } from '../provider/tcp/channel-plan.js';
import {
  COMMAND_ADD_CHANNEL,
  COMMAND_CLOSE_SESSION,
  COMMAND_LOOK,
} from '../provider/tcp/lane/messages.js';
import { lanesOfChannels } from '../provider/tcp/lane-placement.js';
import { LINK_WORDS } from '../provider/tcp/shm/shm-link.js';
import { MATCH_INDEX } from '../wire/control-frame.js';
import { ControlKeeper, type SessionControl } from './control-keeper.js';
import { type LiveFacts, LiveSession, type SessionHost } from './live-session.js';
import type { NewChannel, NewSession } from './new-session.js';
import { checkReadsBudget } from './reads-budget.js';
import { Recovery } from './recovery.js';
import type { RecoveryHost } from './recovery-host.js';
import { SessionFace } from './session-face.js';
import { SessionIndex } from './session-index.js';
import { besidePlugin, SessionSharing, SharedBudget } from './session-sharing.js';
import {
  type SessionTableOptions,
  type SessionTransfers,
  tellerOf,
  toldOf,
} from './session-surroundings.js';

const NO_LINK: readonly number[] = new Array<number>(LINK_WORDS).fill(0);

export class SessionTable {
  readonly #options: SessionTableOptions;
  readonly #clock: Clock;
  readonly #closeConnection: (fd: number) => void;
  readonly #broken: LimitedLog;
  readonly #index: SessionIndex<LiveSession>;
  readonly #shared: SharedBudget;
  readonly #transfers: SessionTransfers;
  readonly #host: SessionHost;

  constructor(options: SessionTableOptions) {
    this.#options = options;
    this.#index = new SessionIndex(options.sessionsMax);
    this.#shared = new SharedBudget(options.sharedBytesMax ?? Number.POSITIVE_INFINITY);
    this.#clock = options.clock ?? systemClock;
    this.#broken = new LimitedLog(options.log, this.#clock);
    this.#closeConnection = options.closeConnection ?? closeSocket;
    const { transfers } = options;
    this.#transfers = transfers;
    this.#host = {
      prepare: (...given) => transfers.prepare(...given),
      lend: () => transfers.lend(),
      postNotification: (session, message) => transfers.postNotification(session, message),
      closeSession: (session, error) => this.close(session, error),
      drive: (promise) => options.drive(promise),
      hold: (session, isHeld) => options.hold(session, isHeld),
      nowUs: () => this.#clock.nowUs(),
      after: (delayMs, act) => options.timers.at(this.#clock.nowUs() + delayMs * 1000, act),
      answerMs: options.limits.reconnectMs,
    };
  }

  /** Of a connection that has an owner no more. */
  closeConnection(fd: number): void {
    this.#closeConnection(fd);
  }

  get count(): number {
    return this.#index.count;
  }

  list(): LiveSession[] {
    return this.#index.list();
  }

  at(index: number): LiveSession | undefined {
    return this.#index.at(index);
  }

  /** Numbers are this engine's own choice only where it is the server. */
  byId(id: number): LiveSession | undefined {
    return this.#index.served(id);
  }

  create(options: NewSession): LiveSession {
    const index = this.#index.freeIndex();
    // The peer may be the one that wants it.
    if (options.isChecked) loadCrc32();
    const { readsBytesMax = Number.POSITIVE_INFINITY } = this.#options;
    const { sharing: agreed, ...terms } = options;
    const { agreement, choice, control } = terms;
    const plan = channelPlan(agreement.channels, terms.role, terms.late);
    checkReadsBudget({ agreement, plan }, this.#index.readsBytes, readsBytesMax);
    const wanted = choice.provider === 'tcpx' ? besidePlugin(agreed) : agreed;
    const sharing = new SessionSharing(control.where, wanted, plan.count, this.#shared);
    try {
      return this.#make(index, { ...terms, isSameHost: agreed.isSameHost }, plan, sharing);
    } catch (error) {
      // There is no session that would give it back at its end.
      sharing.end();
      throw error;
    }
  }

  #make(
    index: number,
    options: Omit<NewSession, 'sharing'> & Pick<LiveFacts, 'isSameHost'>,
    plan: ChannelPlan,
    sharing: SessionSharing,
  ): LiveSession {
    const { lanes, nicCount } = this.#options;
    const {
      control,
      peerGeneration,
      redial,
      attachControl,
      connectMatch,
      choice,
      reconnect,
      terms,
      ...given
    } = options;
    const { where } = control;
    const { threadCount: threads, own } = lanes;
    const here = { threads, own: own?.use, nics: nicCount };
    const channelLanes = lanesOfChannels(index, plan, here);
    const facts = {
      ...given,
      plan,
      provider: choice.provider,
      providerReason: choice.reason,
      choices:
        this.#options.choicesOf?.(given.agreement, { ...terms, channelsFirst: plan.needed }) ?? [],
      key: new SecretBytes(options.key),
      index,
      peerInstance: Buffer.from(peerGeneration).toString('hex'),
      where,
      get path() {
        return sharing.path;
      },
      get pathReason() {
        return sharing.reason;
      },
      nics: channelLanes.map(() => ''),
    };
    const session = new LiveSession(this.#host, facts, sharing, {
      show: (made) => new SessionFace(made),
      recover: (made) => this.#recoveryOf(made, channelLanes, redial),
      keep: (made) => this.#keeperOf(made, control, attachControl),
      match: (made) => this.#matchedOf(made, connectMatch),
    });
    session.reconnect = reconnect;
    this.#index.add(session);
    return session;
  }

  #matchedOf(session: LiveSession, connect: NewSession['connectMatch']) {
    if (session.facts.provider !== 'tcpx') return undefined;
    const { openMatched } = this.#options;
    assert(openMatched !== undefined, 'an end that offers tcpx has the provider open');
    return openMatched(session, connect && ((epoch) => connect(session, epoch)), this);
  }

  #recoveryOf(
    session: LiveSession,
    lanes: readonly number[],
    redial: NewSession['redial'],
  ): Recovery {
    const { log, timers, limits } = this.#options;
    const host: RecoveryHost = {
      log,
      timers,
      peer: session.peer,
      nowUs: () => this.#clock.nowUs(),
      command: (lane, kind, words) => this.#options.lanes.command(lane, kind, words),
      postSignal: (bytes) => this.#postSignal(session, bytes),
      onChannelsChanged: () => this.#transfers.moves.onChannelsChanged(session),
      lose: (error) => this.close(session, error),
      ...tellerOf(session),
      hasInFlight: () => this.#transfers.hasInFlight(session),
      redial:
        redial === undefined ? undefined : (channel, epoch) => redial(session, channel, epoch),
      askRedial: (channel, epoch) => session.askRedial(channel, epoch),
      onControlLost: (epoch) => session.keeper.onMissed(epoch),
    };
    return new Recovery(host, session.facts.index, lanes, session.facts.plan, limits);
  }

  #keeperOf(
    session: LiveSession,
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
          if (channel === MATCH_INDEX) session.matched?.epochs.onAgain(epoch);
          else recovery.onRedialAsked(channel, epoch);
        },
        onLookup: (lookup) => this.#options.answerLookup(lookup),
        onFound: (found) => session.lookups.onFound(found),
        onPeerEnded: (error) => recovery.onPeerEnded(error),
        onGoodbye: (error) => recovery.onGoodbye(error),
        onPeerBack: () => recovery.onPeerBack(),
        lose: (error) => this.close(session, error),
      },
      first,
    );
  }

  // Without room for a fence nothing can be settled: better no session than one that hangs.
  #postSignal(session: LiveSession, bytes: Uint8Array): void {
    try {
      this.#transfers.postSignal(session, bytes);
    } catch (error) {
      this.close(session, toTcpxError(error, 'ERR_SYS_CALL', `${session.peer}: fence`));
    }
  }

  /** A peer attaches a channel anew: its old connection is closed at this end first. */
  async makeRoom(session: LiveSession, channel: ChannelIndex, epoch: Epoch): Promise<void> {
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
    } while (!this.hasRoom(session, channel, epoch));
  }

  /** Whether a connection of this epoch may be admitted now. */
  hasRoom({ recovery: { book } }: LiveSession, channel: ChannelIndex, epoch: Epoch): boolean {
    return epoch > book.epoch(channel) && !book.isUp(channel);
  }

  /** Hands a connected data socket to its lane; true when it was the last that was lacking. */
  addChannel(session: LiveSession, { channel, epoch, fd, nic, link, socket }: NewChannel): boolean {
    const { index, agreement, nics, isChecked } = session.facts;
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
    const place = link?.toWords() ?? NO_LINK;
    const words = [fd, index, channel, epoch, windowChunks, chunkBytes, channels];
    words.push(isChecked ? 1 : 0, whoseChannel(session.facts.plan, channel), ...place);
    this.#options.lanes.command(book.lane(channel), COMMAND_ADD_CHANNEL, words);
    session.recovery.onAttached(channel, epoch);
    if (session.isReady) this.#transfers.moves.onChannelsChanged(session);
    if (session.isReady || !book.isBegun) return false;
    this.#setReady(session);
    return true;
  }

  #setReady(session: LiveSession): void {
    session.setReady();
    this.#options.log.info('session ready', {
      peer: session.peer,
      channels: session.facts.agreement.channels,
      chunkBytes: session.facts.agreement.chunkBytes,
      path: session.facts.path,
      reason: session.facts.pathReason,
    });
    session.keeper.watch();
  }

  /** A rule of the data channel was broken: that is the reason, though a goodbye came after it. */
  onRuleBroken(session: LiveSession, error: TcpxError): void {
    this.close(session, error);
    if (session.error?.code !== 'ERR_PEER_GOODBYE') return;
    session.setRuleBroken(error);
    this.#logClosing(session, error);
  }

  // A peer that breaks a rule is somebody's fault, and one that may do so again and again.
  #logClosing(session: LiveSession, error: TcpxError): void {
    const { peer } = session;
    const fields = { peer, code: error.code, reason: error.message };
    if (error.code.startsWith('ERR_WIRE_')) this.#broken.warn('session closing', fields);
    else this.#options.log.info('session closing', fields);
  }

  /** Begins the end: lanes give up what is in flight and answer. */
  close(session: LiveSession, error: TcpxError): void {
    // Otherwise the peer would see its connections end, and not know what it did.
    if (error.code.startsWith('ERR_WIRE_')) session.sayGoodbye(toldOf(session, error));
    if (!session.setClosing(error)) return;
    this.#logClosing(session, error);
    session.recovery.stop();
    session.keeper.stop();
    this.#transfers.moves.giveUpStranded(session);
    const { usedLanes } = session.recovery.book;
    session.holders = usedLanes.length + (session.matched === undefined ? 0 : 1);
    // No channel ever came, so that nobody has to let go of one.
    if (session.holders === 0) this.#end(session);
    void session.matched?.end(error).then(() => this.onLaneClosed(session.facts.index));
    for (const lane of usedLanes) {
      if (this.#options.lanes.isAlive(lane)) {
        // A goodbye does not hide what was done before it.
        const isGoodbye = error.code === 'ERR_PEER_GOODBYE';
        if (isGoodbye) this.#options.lanes.command(lane, COMMAND_LOOK, [session.facts.index]);
        this.#options.lanes.command(lane, COMMAND_CLOSE_SESSION, [session.facts.index]);
      } else {
        this.onLaneClosed(session.facts.index);
      }
    }
  }

  /** An interface of this host carries nothing any more. */
  onLinkDown(nic: string): void {
    for (const { recovery, facts, isReady } of this.list()) {
      const { living } = recovery.book;
      const isHit = (channel: number): boolean => facts.nics[channel] === nic;
      // Where no other is left there is nothing to gain: the link may be back soon.
      if (!isReady || living.every(isHit)) continue;
      const hit = recovery.book.up.filter(isHit);
      for (const channel of hit) {
        recovery.giveUp(channel, recovery.book.epoch(channel), `link ${nic} is down`);
      }
    }
  }

  /** A thread has died: what it served ends, once the other lanes have let go as well. */
  onLaneFailed(laneIndex: LaneIndex, error: TcpxError): void {
    for (const session of this.list()) {
      if (!session.isEnding()) {
        // First: the peer shall not take the end of the connections for the reason.
        session.sayGoodbye('a lane has failed');
        this.#abortSockets(session, laneIndex);
        this.close(session, error);
      } else if (session.recovery.book.usedLanes.includes(laneIndex)) {
        this.#abortSockets(session, laneIndex);
        this.onLaneClosed(session.facts.index);
      }
    }
  }

  // Nobody else closes them, and the kernel might send from memory that is about to be free.
  #abortSockets(session: LiveSession, laneIndex: LaneIndex): void {
    const { book } = session.recovery;
    for (const [channel, socket] of session.sockets.entries()) {
      if (socket !== undefined && book.lane(channel) === laneIndex) abortSocket(socket);
    }
  }

  /** A lane, or the matched carrier, has let go of the session. */
  onLaneClosed(index: number): void {
    const session = this.#index.at(index);
    if (session === undefined) return;
    session.holders--;
    if (session.holders === 0) this.#end(session);
  }

  #end(session: LiveSession): void {
    this.#index.remove(session);
    session.sharing.end();
    this.#transfers.abandonSession(session);
    session.setClosed();
  }
}
