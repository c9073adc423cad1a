// Sessions by index: made by a handshake, spread over lanes, closed once every lane has let go.

import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { COMMAND_ADD_CHANNEL, COMMAND_CLOSE_SESSION } from '../lane/messages.js';
import { closeSocket } from '../transport/tcp/dial.js';
import type { Agreement } from '../wire/control-frame.js';
import { ControlKind } from '../wire/control-frame.js';
import type { ControlChannel } from './control-channel.js';
import { laneOfChannel } from './lane-placement.js';
import type { LaneSet } from './lane-set.js';
import { Session, type SessionHost } from './session.js';
import { SessionState } from './session-state.js';

export interface NewSession {
  /** Number that the server chose, known to both ends. */
  readonly id: number;
  /** Which end this is: the one that was called, or the one that calls. */
  readonly role: 'server' | 'client';
  readonly peerName: string;
  readonly peerGeneration: Uint8Array;
  readonly agreement: Agreement;
  readonly key: Uint8Array;
  readonly control: ControlChannel;
}

export class SessionTable {
  readonly #lanes: LaneSet;
  readonly #sessionsMax: number;
  readonly #nicCount: number;
  readonly #log: Log;
  readonly #byIndex: (Session | undefined)[] = [];
  /** Set once by the engine, before any session exists. */
  host: SessionHost | undefined;
  /** Told when a session has ended, before its index is reused. */
  onClosed: ((session: Session) => void) | undefined;

  constructor(lanes: LaneSet, sessionsMax: number, nicCount: number, log: Log) {
    this.#lanes = lanes;
    this.#sessionsMax = sessionsMax;
    this.#nicCount = nicCount;
    this.#log = log;
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
    const lanes = this.#lanesOf(index, options.agreement.channels);
    if (this.host === undefined) throw new TcpxError('ERR_USAGE_STATE', 'engine is not open');
    const { control, peerGeneration, ...given } = options;
    const instance = Buffer.from(peerGeneration).toString('hex');
    const nics = new Array<string>(given.agreement.channels).fill('');
    const facts = { ...given, index, peerInstance: instance, where: control.where, nics, lanes };
    const session = new Session(this.host, facts, control);
    session.lanesOpen = lanes.length;
    this.#byIndex[index] = session;
    return session;
  }

  // Lanes that serve at least one channel of the session.
  #lanesOf(index: number, channels: number): number[] {
    const lanes = new Set<number>();
    for (let channel = 0; channel < channels; channel++) {
      lanes.add(laneOfChannel(index, channel, this.#lanes.count, this.#nicCount));
    }
    return [...lanes];
  }

  #freeIndex(): number {
    let index = this.#byIndex.indexOf(undefined);
    if (index < 0) index = this.#byIndex.length;
    if (index < this.#sessionsMax) return index;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `${this.#sessionsMax} sessions are open, session.peersMax allows no more`,
    );
  }

  /** Hands a connected data socket to its lane, which owns it from here on. */
  addChannel(session: Session, channelIndex: number, fd: number, nic: string): void {
    const { index, agreement, nics } = session.facts;
    // It may have ended while this connection proved itself; its index may have a new owner.
    if (session.state !== SessionState.Attaching) {
      closeSocket(fd);
      throw new TcpxError('ERR_PEER_LOST', `${session.peer}: the session ended while attaching`);
    }
    const lane = laneOfChannel(index, channelIndex, this.#lanes.count, this.#nicCount);
    session.attached.add(channelIndex);
    nics[channelIndex] = nic;
    this.#lanes.command(lane, COMMAND_ADD_CHANNEL, [
      fd,
      index,
      channelIndex,
      agreement.windowChunks,
      agreement.chunkBytes,
      agreement.channels,
    ]);
    if (session.attached.size === agreement.channels) this.#setReady(session);
  }

  #setReady(session: Session): void {
    session.setReady();
    this.#log.info('session ready', {
      peer: session.peer,
      channels: session.facts.agreement.channels,
      chunkBytes: session.facts.agreement.chunkBytes,
    });
    session.control.handOver(
      (message) => {
        const isGoodbye = message.kind === ControlKind.Goodbye;
        const reason = isGoodbye ? `said goodbye: ${message.reason}` : 'sent an unexpected frame';
        const code = isGoodbye ? 'ERR_PEER_GOODBYE' : 'ERR_WIRE_STATE';
        this.close(session, new TcpxError(code, `${session.peer} ${reason}`));
      },
      (error) => {
        const reason = error.message.replace(`${session.control.where}: `, '');
        const message = `${session.peer}: control connection: ${reason}`;
        this.close(session, new TcpxError('ERR_PEER_LOST', message, { cause: error }));
      },
    );
  }

  /** Begins the end: lanes give up what is in flight and answer. */
  close(session: Session, error: TcpxError): void {
    if (!session.setClosing(error)) return;
    this.#log.info('session closing', {
      peer: session.peer,
      code: error.code,
      reason: error.message,
    });
    session.control.close();
    for (const lane of session.facts.lanes) {
      this.#lanes.command(lane, COMMAND_CLOSE_SESSION, [session.facts.index]);
    }
  }

  /** A lane has let go of the session. */
  onLaneClosed(index: number): void {
    const session = this.#byIndex[index];
    if (session === undefined) return;
    session.lanesOpen--;
    if (session.lanesOpen > 0) return;
    this.#finish(session);
  }

  /** Ends a session whose lanes will not answer any more. */
  abandon(session: Session, error: TcpxError): void {
    if (session.setClosing(error)) session.control.close();
    if (session.state === SessionState.Closing) this.#finish(session);
  }

  #finish(session: Session): void {
    this.#byIndex[session.facts.index] = undefined;
    this.onClosed?.(session);
    session.setClosed();
  }
}
