// What a table of sessions stands on, and what it tells of them.

import type { Clock } from '../base/clock.js';
import type { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { Timers } from '../base/timers.js';
import type { Choice } from '../provider/receipt.js';
import type { LaneSet } from '../provider/tcp/lane-set.js';
import type { TransferMoves } from '../provider/tcp/transfer-moves.js';
import type { OpenMatch } from '../provider/tcpx/match-connection.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { Agreement, ControlMessage, Lookup } from '../wire/control-frame.js';
import type { PeerTerms } from './choices.js';
import type { ControlLimits } from './control-keeper.js';
import type { LiveSession, SessionHost } from './live-session.js';
import type { RecoveryLimits } from './recovery.js';
import type { RecoveryHost } from './recovery-host.js';
import type { SessionTable } from './session-table.js';

/** What becomes of requests of a session, and of its transfers when channels come and go. */
export interface SessionTransfers
  extends Pick<SessionHost, 'prepare' | 'lend' | 'postNotification'> {
  readonly moves: Pick<TransferMoves, 'onChannelsChanged' | 'giveUpStranded'>;
  postSignal(session: LiveSession, bytes: Uint8Array): void;
  hasInFlight(session: LiveSession): boolean;
  /** Every lane has let go of the session: what is left fails. */
  abandonSession(session: LiveSession): void;
}

/** The client's way to a match connection of an epoch. */
export type ConnectMatch = (epoch: number) => Promise<OpenMatch>;

/** Makes the carrier of a session that both ends want tcpx for. */
export type OpenMatched = (
  session: LiveSession,
  connect: ConnectMatch | undefined,
  sessions: SessionTable,
) => MatchedCarrier<LiveSession>;

/** What the table needs from the engine. */
export interface SessionTableOptions {
  readonly lanes: LaneSet;
  readonly transfers: SessionTransfers;
  /** Where the tcpx provider is open. */
  readonly openMatched?: OpenMatched | undefined;
  /** What a session runs with, and why; without, nothing is said of it. */
  readonly choicesOf?: (agreement: Agreement, terms: PeerTerms) => readonly Choice[];
  /** Where callers drive: keeps data moving until the promise settles. */
  drive<T>(promise: Promise<T>): Promise<T>;
  /** Whether the process stays for the sake of a session. */
  hold(session: LiveSession, isHeld: boolean): void;
  readonly sessionsMax: number;
  /** What the reads of all peers may take; no limit without. */
  readonly readsBytesMax?: number;
  /** What all sessions with peers of this host may share with them; no limit without. */
  readonly sharedBytesMax?: number;
  readonly nicCount: number;
  readonly log: Log;
  readonly timers: Timers;
  /** What the peer of a session is told of a region that it asks for by name. */
  answerLookup(lookup: Lookup): ControlMessage;
  readonly limits: RecoveryLimits & ControlLimits;
  /** The system's, and sockets, unless a simulation has its own. */
  readonly clock?: Clock;
  readonly closeConnection?: (fd: number) => void;
}

export function tellerOf({
  events,
  facts,
}: LiveSession): Pick<RecoveryHost, 'tellChannel' | 'tellFailover'> {
  const nicOf = (channel: number): string => facts.nics[channel] ?? '';
  return {
    tellChannel: (channel, state) =>
      events.tell('channel', { channel, nic: nicOf(channel), state }),
    tellFailover: (channel, reason) =>
      events.tell('failover', { channel, nic: nicOf(channel), reason }),
  };
}

/** What a peer that broke a rule is told. */
export function toldOf(session: LiveSession, error: TcpxError): string {
  return `${error.code}: ${error.message.replaceAll(session.peer, 'you')}`;
}
