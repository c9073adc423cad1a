// How sessions begin: peers that come in through the listener, and peers that are called.

import { networkInterfaces } from 'node:os';
import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ControlSet } from '../os/control-set.js';
import { type ConnInfo, offeredHosts } from './conn-info.js';
import {
  type ConnectOptions,
  connectOptions,
  type ListenPlace,
  listenAddress,
} from './engine-options.js';
import type { Identity } from './identity.js';
import type { LiveSession } from './live-session.js';
import { connectPeer } from './peer-client.js';
import { PeerServer } from './peer-server.js';
import { matchOpener, type OpenedProvider } from './provider-open.js';
import { Reconnection } from './reconnection.js';
import type { SessionTable } from './session-table.js';
import { SocketNetwork } from './socket-network.js';

export interface EngineDoorParts {
  readonly control: ControlSet;
  readonly config: Config;
  readonly log: Log;
  readonly identity: Identity;
  readonly opened: OpenedProvider;
  readonly sessions: SessionTable;
  /** Of several of one process, which says itself whom all of them trust. */
  readonly isServed: boolean;
  onSession(session: LiveSession): void;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
}

export class EngineDoor {
  readonly #parts: EngineDoorParts;
  readonly #network: SocketNetwork;
  #server: PeerServer | undefined;

  constructor(parts: EngineDoorParts) {
    this.#parts = parts;
    this.#network = new SocketNetwork(parts.control, parts.config, parts.log);
  }

  /** 0 before listen. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  listen(where: ListenPlace): number {
    if (this.#server !== undefined) {
      throw new TcpxError('ERR_USAGE_STATE', `already listening on port ${this.port}`);
    }
    const { config, log, identity, sessions, isServed } = this.#parts;
    const { trust } = identity;
    this.#server = new PeerServer({
      network: this.#network,
      address: listenAddress(where, config.values, trust.acceptsNetwork),
      identity,
      sessions,
      log,
      handshakesMax: config.values['session.handshakesMax'],
      openMatch: this.#openMatch(),
      onSession: (session) => this.#parts.onSession(session),
    });
    if (trust.name === 'loopback' && !isServed) {
      log.warn('no shared secret: peers on loopback alone are accepted', { port: this.port });
    }
    return this.port;
  }

  connInfo(instance: string): ConnInfo {
    if (this.#server === undefined) {
      throw new TcpxError('ERR_USAGE_STATE', 'connInfo: the engine does not listen');
    }
    const nic = this.#parts.config.values['session.ctrlInterface'];
    const hosts = offeredHosts(this.#server.host, nic, networkInterfaces());
    return { instance, port: this.port, hosts };
  }

  async connect(where: string, given: number | ConnectOptions): Promise<LiveSession> {
    const { config, log, identity, sessions } = this.#parts;
    const { reconnect, ...options } = connectOptions(where, given, config.values);
    const session = await connectPeer({
      ...options,
      ...{ network: this.#network, openMatch: this.#openMatch() },
      ...{ identity, sessions, config, log },
    });
    if (reconnect !== undefined) {
      const after = (delayMs: number, act: () => void) => this.#parts.after(delayMs, act);
      new Reconnection(reconnect, after).keep(session);
    }
    return session;
  }

  /** Nobody comes in any more. */
  close(): void {
    this.#server?.close();
  }

  #openMatch() {
    const { opened, config, control } = this.#parts;
    return matchOpener(opened.tcpx, config.values, control);
  }
}
