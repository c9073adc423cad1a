// The listening side: every accepted connection is greeted, proves itself, and becomes a session
// or a channel of one. What fails or dawdles is refused, named in the log and closed.

import { randomInt } from 'node:crypto';
import { networkInterfaces } from 'node:os';
import type { Config } from '../base/config.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import { openShm } from '../provider/tcp/shm/shm-file.js';
import { identifySocket } from '../os/connection-counters.js';
import { closeSocket, nicAddress, type SocketAddress, tuneSocket } from '../os/dial.js';
import type { ControlSet } from '../os/control-set.js';
import { Listener } from '../os/listener.js';
import type { MatchConnection, MatchHandler } from '../provider/tcpx/match-connection.js';
import { type Attach, CONTROL_INDEX, ControlKind, MATCH_INDEX } from '../wire/control-frame.js';
import { ControlChannel } from './control-channel.js';
import {
  admitChannel,
  assertTrusted,
  checkAttach,
  greetClient,
  type Identity,
  pathOf,
  refusePeer,
} from './handshake.js';
import { listNics } from './peer-client.js';
import type { Session } from './session.js';
import { SessionState } from './session-state.js';
import type { SessionTable } from './session-table.js';
import { socketTuning } from './socket-tuning.js';
import { attachProof } from './trust.js';

export interface PeerServerOptions {
  readonly set: ControlSet;
  readonly address: SocketAddress;
  readonly identity: Identity;
  readonly sessions: SessionTable;
  readonly config: Config;
  readonly log: Log;
  /** Where the tcpx provider is open. */
  readonly openMatch: ((fd: number, handler: MatchHandler) => MatchConnection) | undefined;
  onSession(session: Session): void;
}

/** Connections that have not proved themselves; one more costs the oldest of the busiest host. */
export const HANDSHAKES_MAX = 256;

export class PeerServer {
  readonly #options: PeerServerOptions;
  readonly #listener: Listener;
  /** In order of arrival. */
  readonly #handshakes = new Set<ControlChannel>();
  readonly #refusals: LimitedLog;
  #isClosed = false;

  constructor(options: PeerServerOptions) {
    this.#options = options;
    this.#refusals = new LimitedLog(options.log);
    // A NIC that is absent shows here, not at the first peer that comes.
    if (!options.identity.offer.hasTcpx) this.#dataAddresses();
    this.#listener = new Listener(options.set, {
      address: options.address,
      congestion: options.config.values['socket.congestion'],
      onAccepted: (fd) => this.#onAccepted(fd),
    });
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

  #onAccepted(fd: number): void {
    let connection: ControlChannel;
    try {
      connection = new ControlChannel(this.#options.set, fd);
    } catch (error) {
      // The peer was gone before we looked.
      closeSocket(fd);
      this.#options.log.info('connection lost', { reason: String(error) });
      return;
    }
    if (this.#handshakes.size >= HANDSHAKES_MAX) this.#makeRoom();
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
    const held = new Map<string, ControlChannel[]>();
    for (const connection of this.#handshakes) {
      // Gone already, but nobody has come to say so yet.
      if (!connection.socket.isOpen) {
        this.#handshakes.delete(connection);
        continue;
      }
      const host = connection.socket.peerHost;
      const others = held.get(host);
      if (others === undefined) held.set(host, [connection]);
      else others.push(connection);
    }
    if (this.#handshakes.size < HANDSHAKES_MAX) return;
    const [busiest] = [...held.values()].sort((a, b) => b.length - a.length);
    const oldest = busiest?.[0];
    if (oldest === undefined) return;
    this.#handshakes.delete(oldest);
    this.#refuse(
      oldest,
      new TcpxError(
        'ERR_WIRE_LIMIT',
        `${oldest.where}: ${HANDSHAKES_MAX} handshakes wait, this one longest`,
      ),
    );
  }

  #refuse(connection: ControlChannel, error: unknown): void {
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

  async #greet(connection: ControlChannel): Promise<void> {
    const { identity } = this.#options;
    const first = await connection.next(
      [ControlKind.Hello, ControlKind.Attach],
      identity.timeoutMs,
    );
    if (first.kind === ControlKind.Attach) {
      await this.#attach(connection, first);
      return;
    }
    const greeted = await greetClient(identity, connection, first);
    const session = this.#options.sessions.create({
      id: this.#freshId(),
      role: 'server',
      peerName: greeted.peerName,
      peerGeneration: greeted.peerGeneration,
      agreement: greeted.agreement,
      key: greeted.sessionKey,
      control: connection,
      path: pathOf(identity),
      choice: greeted.choice,
    });
    this.#expectChannels(session);
    connection.send({
      kind: ControlKind.Accept,
      sessionId: session.facts.id,
      ...greeted.agreement,
      // With tcpx the NICs are the plugin's.
      addresses: greeted.choice.provider === 'tcpx' ? [] : this.#dataAddresses(),
    });
  }

  #freshId(): number {
    for (;;) {
      const id = randomInt(1, 2 ** 32 - 1);
      if (this.#options.sessions.byId(id) === undefined) return id;
    }
  }

  #dataAddresses(): string[] {
    return listNics(this.#options.config).map((nic) => nicAddress(nic, 'IPv4'));
  }

  // A client that never attaches its channels must not hold a session.
  #expectChannels(session: Session): void {
    const limitMs = this.#options.identity.timeoutMs;
    setTimeout(() => {
      if (session.state !== SessionState.Attaching) return;
      this.#options.sessions.close(
        session,
        new TcpxError(
          'ERR_PEER_TIMEOUT',
          `${session.peer}: channels not attached in ${limitMs} ms`,
        ),
      );
    }, limitMs).unref();
  }

  async #attach(connection: ControlChannel, attach: Attach): Promise<void> {
    const { sessions, config, identity } = this.#options;
    assertTrusted(identity, connection);
    const session = sessions.byId(attach.sessionId);
    if (session === undefined || session.isEnding()) {
      throw new TcpxError(
        'ERR_PEER_STALE_SESSION',
        `${connection.where}: ATTACH to no open session`,
      );
    }
    const { channelIndex, epoch } = attach;
    const isMain = channelIndex === CONTROL_INDEX || channelIndex === MATCH_INDEX;
    if (!isMain && channelIndex >= session.facts.agreement.channels) {
      throw new TcpxError('ERR_WIRE_LIMIT', `${connection.where}: no channel ${channelIndex}`);
    }
    checkAttach(session.facts.key, connection, attach);
    if (channelIndex === CONTROL_INDEX) {
      sessions.assertControl(session, epoch);
      admitChannel(connection, session.facts.key, attach);
      sessions.attachControl(session, connection, epoch);
      return;
    }
    if (channelIndex === MATCH_INDEX) {
      await this.#attachMatch(connection, session, attach);
      return;
    }
    await sessions.makeRoom(session, channelIndex, epoch);
    const { fd } = connection.socket;
    tuneSocket(fd, socketTuning(config));
    const { key } = session.facts;
    const link = identity.isSharedMemory
      ? openShm(attach.nonce, attachProof(key, 'attached', attach))
      : undefined;
    try {
      admitChannel(connection, key, attach);
    } catch (error) {
      link?.unmap();
      throw error;
    }
    connection.socket.release();
    const nic = nicOfAddress(connection.localHost);
    const socket = identifySocket(fd);
    const place = { channel: channelIndex, epoch, fd, nic, link, socket };
    if (sessions.addChannel(session, place)) this.#options.onSession(session);
  }

  async #attachMatch(connection: ControlChannel, session: Session, attach: Attach): Promise<void> {
    const { matched } = session;
    const { openMatch } = this.#options;
    if (matched === undefined || openMatch === undefined || !session.isReady) {
      throw new TcpxError('ERR_WIRE_STATE', `${session.peer}: the session is not one of tcpx`);
    }
    await matched.epochs.makeRoom(attach.epoch);
    admitChannel(connection, session.facts.key, attach);
    const { fd } = connection.socket;
    connection.socket.release();
    try {
      matched.epochs.accept(attach.epoch, (handler) => openMatch(fd, handler));
    } catch (error) {
      closeSocket(fd);
      throw error;
    }
  }
}

/** Interface that owns an address; empty when none does. */

function nicOfAddress(host: string): string {
  for (const [name, entries] of Object.entries(networkInterfaces())) {
    if (entries?.some((entry) => entry.address === host) === true) return name;
  }
  return '';
}
