// The listening side: every accepted connection is greeted, proves itself, and becomes a session
// or a channel of one. What fails or dawdles is refused, named in the log and closed.

import { assert } from '../base/assert.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { SocketAddress } from '../os/dial.js';
import { shareMemory } from '../provider/tcp/shm/shm-handover.js';
import type { MatchConnection, MatchHandler } from '../provider/tcpx/match-connection.js';
import {
  CONTROL_INDEX,
  ControlKind,
  type ControlMessage,
  controlKindName,
  MATCH_INDEX,
  type MessageOf,
  NONCE_BYTES,
} from '../wire/control-frame.js';
import { ServerAttach } from './attaching.js';
import { ServerGreeting } from './greeting.js';
import { converse, refusePeer } from './handshake.js';
import { checkTrusted, type Identity } from './identity.js';
import type { LiveSession } from './live-session.js';
import { Opening } from './opening.js';
import type { PeerConnection, PeerListener, PeerNetwork } from './peer-network.js';
import { SessionState } from './session-state.js';
import type { SessionTable } from './session-table.js';

export interface PeerServerOptions {
  readonly network: PeerNetwork;
  readonly address: SocketAddress;
  readonly identity: Identity;
  readonly sessions: SessionTable;
  readonly log: Log;
  /** Connections that have not proved themselves; one more costs the oldest of the busiest host. */
  readonly handshakesMax: number;
  /** Where the tcpx provider is open. */
  readonly openMatch: ((fd: number, handler: MatchHandler) => MatchConnection) | undefined;
  onSession(session: LiveSession): void;
}

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #listener: PeerListener;
  /** In order of arrival. */
  readonly #handshakes = new Set<PeerConnection>();
  readonly #refusals: LimitedLog;
  #isClosed = false;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#refusals = new LimitedLog(options.log, options.network);
    // A NIC that is absent shows here, not at the first peer that comes.
    if (!options.identity.offer.hasTcpx) options.network.assertNics();
    this.#listener = options.network.listen(options.address, (connection) =>
      this.#onAccepted(connection),
    );
  }

  get host(): string {
    return this.#listener.address.host;
  }

  get port(): number {
    return this.#listener.address.port;
  }

  close(): void {
    this.#isClosed = true;
    this.#listener.close();
    for (const connection of this.#handshakes) connection.close();
  }

  #onAccepted(connection: PeerConnection): void {
    if (this.#handshakes.size >= this.#options.handshakesMax) this.#makeRoom();
    this.#handshakes.add(connection);
    this.#greet(connection)
      .catch((error: unknown) => {
        // Not if it had to make room: that was said already.
        if (this.#handshakes.has(connection)) this.#refuse(connection, error);
      })
      .finally(() => this.#handshakes.delete(connection));
  }

  // An honest handshake is over in milliseconds: whoever has waited longest, from the host that
  // holds most, is the least likely to be one. So that many who dawdle do not keep others out.
  #makeRoom(): void {
    const held = new Map<string, PeerConnection[]>();
    for (const connection of this.#handshakes) {
      // Gone already, but nobody has come to say so yet.
      if (!connection.isOpen) {
        this.#handshakes.delete(connection);
        continue;
      }
      const host = connection.peerHost;
      const others = held.get(host);
      if (others === undefined) held.set(host, [connection]);
      else others.push(connection);
    }
    const { handshakesMax } = this.#options;
    if (this.#handshakes.size < handshakesMax) return;
    const [busiest] = [...held.values()].sort((a, b) => b.length - a.length);
    const oldest = busiest?.[0];
    if (oldest === undefined) return;
    this.#handshakes.delete(oldest);
    this.#refuse(
      oldest,
      new TcpxError(
        'ERR_WIRE_LIMIT',
        `${oldest.where}: ${handshakesMax} handshakes wait, this one longest, ` +
          'session.handshakesMax allows no more',
      ),
    );
  }

  #refuse(connection: PeerConnection, error: unknown): void {
    if (this.#isClosed) {
      connection.close();
      return;
    }
    const typed = toTcpxError(error, 'ERR_SYS_CALL', 'handshake');
    this.#refusals.warn('peer refused', {
      peer: connection.where,
      code: typed.code,
      reason: typed.message,
    });
    refusePeer(connection, typed);
  }

  async #greet(connection: PeerConnection): Promise<void> {
    const { identity, network } = this.#options;
    const opening = new Opening(connection.where, identity.timeoutMs);
    const first = await converse(network, connection, opening);
    if (first.kind === ControlKind.Attach) {
      await this.#attach(connection, new ServerAttach(connection.where, first));
      return;
    }
    await this.#welcome(connection, first);
  }

  async #welcome(
    connection: PeerConnection,
    hello: MessageOf<typeof ControlKind.Hello>,
  ): Promise<void> {
    const { identity, network, sessions } = this.#options;
    const nonce = network.randomBytes(NONCE_BYTES);
    const greeting = new ServerGreeting(identity, connection, hello, nonce);
    const greeted = await converse(network, connection, greeting);
    const id = this.#freshId();
    // With tcpx the NICs are the plugin's.
    const isPlugin = greeted.choice.provider === 'tcpx';
    const nics = isPlugin ? [] : network.nics(connection.peerHost);
    const addresses = nics.map(({ address }) => address);
    const { accept, sessionKey } = greeting.accept(id, addresses);
    const session = sessions.create({
      id,
      role: 'server',
      peerName: greeted.peerName,
      peerGeneration: greeted.peerGeneration,
      agreement: greeted.agreement,
      key: sessionKey,
      control: connection,
      // Within a host there is no distance, however busy it is.
      terms: { roundTripUs: connection.isLoopback ? 0 : connection.roundTripUs },
      choice: greeted.choice,
      sharing: greeted.sharing,
      isChecked: greeted.isChecked,
      late: greeted.late,
    });
    try {
      connection.send(accept);
    } catch (error) {
      // The client will never hear of the session, so nobody would ever attach to it.
      sessions.close(session, toTcpxError(error, 'ERR_PEER_LOST', connection.where));
      throw error;
    }
    // No handshake any more: there may be as many of these as sessions.
    void this.#expectChannels(session, connection);
  }

  #freshId(): number {
    const { network, sessions } = this.#options;
    for (;;) {
      const id = Buffer.from(network.randomBytes(4)).readUInt32LE();
      if (id !== 0 && sessions.byId(id) === undefined) return id;
    }
  }

  // A client that never attaches its channels must not hold a session; one that does not take what
  // was accepted says so. A connection that is lost meanwhile can still be followed by another.
  async #expectChannels(session: LiveSession, connection: PeerConnection): Promise<void> {
    const { network, identity } = this.#options;
    const limitMs = identity.timeoutMs;
    const cancel = network.after(limitMs, () => {
      const text = `${session.peer}: channels not attached in ${limitMs} ms`;
      this.#endEarly(session, new TcpxError('ERR_PEER_TIMEOUT', text));
    });
    const heard = await connection.hear(network.nowUs() + limitMs * 1000);
    if (heard.kind === 'message') this.#endEarly(session, untimely(session.peer, heard.message));
    // A timer that is left behind would hold the session for as long.
    if (session.state !== SessionState.Attaching) cancel();
  }

  // Once the channels are there the session listens by itself.
  #endEarly(session: LiveSession, error: TcpxError): void {
    if (session.state !== SessionState.Attaching) return;
    const { code, message: reason } = error;
    this.#refusals.warn('session not begun', { peer: session.peer, code, reason });
    this.#options.sessions.close(session, error);
  }

  async #attach(connection: PeerConnection, joining: ServerAttach): Promise<void> {
    const { sessions, network, identity } = this.#options;
    checkTrusted(identity, connection);
    const { sessionId, channelIndex, epoch, nonce } = joining.attach;
    const named = sessions.byId(sessionId);
    const session = named?.isEnding() === false ? named : undefined;
    joining.prove(session?.facts.key.reveal());
    assert(session !== undefined, 'nobody proves the key of a session that is not there');
    if (channelIndex === CONTROL_INDEX) {
      session.assertControl(epoch);
      connection.send(joining.admit());
      session.attachControl(connection, epoch);
      return;
    }
    if (channelIndex === MATCH_INDEX) {
      await this.#attachMatch(connection, session, joining);
      return;
    }
    if (channelIndex >= session.facts.plan.count) {
      throw new TcpxError('ERR_WIRE_LIMIT', `${connection.where}: no channel ${channelIndex}`);
    }
    // Another attempt may come in between the room and this line: none does from here on.
    do await sessions.makeRoom(session, channelIndex, epoch);
    while (!sessions.hasRoom(session, channelIndex, epoch));
    connection.tune();
    const { sharing } = session;
    const link = sharing.isWanted
      ? sharing.settle(shareMemory(nonce, joining.answer('shared'), joining.answer('mapped')))
      : undefined;
    try {
      connection.send(joining.admit(link === undefined ? 'attached' : 'shared'));
    } catch (error) {
      link?.unmap();
      throw error;
    }
    const nic = network.nicOf(connection.localHost);
    const place = { channel: channelIndex, epoch, nic, link, ...connection.release() };
    if (sessions.addChannel(session, place)) this.#options.onSession(session);
  }

  async #attachMatch(
    connection: PeerConnection,
    session: LiveSession,
    joining: ServerAttach,
  ): Promise<void> {
    const { matched } = session;
    const { openMatch } = this.#options;
    const { epoch } = joining.attach;
    if (matched === undefined || openMatch === undefined || !session.isReady) {
      throw new TcpxError('ERR_WIRE_STATE', `${session.peer}: the session is not one of tcpx`);
    }
    await matched.epochs.makeRoom(epoch);
    connection.send(joining.admit());
    const { fd } = connection.release();
    try {
      matched.epochs.accept(epoch, (handler) => openMatch(fd, handler));
    } catch (error) {
      this.#options.sessions.closeConnection(fd);
      throw error;
    }
  }
}

/** What a client may say between ACCEPT and its last channel: that it does not want it. */
function untimely(peer: string, message: ControlMessage): TcpxError {
  if (message.kind !== ControlKind.Refuse) {
    const what = controlKindName(message.kind);
    return new TcpxError('ERR_WIRE_STATE', `${peer}: ${what} before its channels`);
  }
  const { code, reason } = message;
  const text = `${peer} refused what was accepted: ${code}: ${reason}`;
  return new TcpxError('ERR_PEER_REFUSED', text, { facts: { peer, code } });
}
