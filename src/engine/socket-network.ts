// Connections to and from peers over sockets of the control set.

import { randomBytes } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { sleepMs, systemClock } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { ERROR_CODES, TcpxError } from '../base/errors.js';
import { splitNics } from '../base/interface-list.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import { type CongestionChoice, congestionHere } from '../os/congestion.js';
import type { ControlSet } from '../os/control-set.js';
import { closeSocket, dial, resolveHost, resolveHostNow, type SocketAddress } from '../os/dial.js';
import { Listener } from '../os/listener.js';
import { assertNic, type NicFamily, nicAddress } from '../os/nic-address.js';
import { nicNetworks, PREFIXES } from '../os/nic-networks.js';
import { kernelFlightBytes } from '../os/socket-buffers.js';
import { ControlChannel } from './control-channel.js';
import { refusePeer } from './handshake.js';
import type { ChannelRoute, LocalNic } from './nic-map.js';
import type { PeerConnection, PeerListener, PeerNetwork } from './peer-network.js';
import { socketTuning } from './socket-tuning.js';

export function listNics(config: Config): string[] {
  return splitNics(config.values['session.nics']);
}

const NIC_NAMES_US = 1_000_000;

export class SocketNetwork implements PeerNetwork {
  readonly #set: ControlSet;
  readonly #config: Config;
  readonly #log: Log;
  readonly #wants: LimitedLog;
  readonly #congestion: CongestionChoice;
  readonly bufferBytes = kernelFlightBytes();
  #nicNames: ReadonlyMap<string, string> = new Map();
  #nicNamesUs = Number.NEGATIVE_INFINITY;

  constructor(set: ControlSet, config: Config, log: Log) {
    this.#set = set;
    this.#config = config;
    this.#log = log;
    this.#wants = new LimitedLog(log);
    this.#congestion = congestionHere(config.values['socket.congestion']);
  }

  nowUs(): number {
    return systemClock.nowUs();
  }

  sleepUntil(atUs: number): Promise<void> {
    return sleepMs(Math.max(0, atUs - systemClock.nowUs()) / 1000);
  }

  after(delayMs: number, act: () => void): () => void {
    const timer = setTimeout(act, delayMs).unref();
    return () => clearTimeout(timer);
  }

  randomBytes(count: number): Uint8Array {
    return randomBytes(count);
  }

  resolve(host: string): Promise<string[]> {
    return resolveHost(host);
  }

  async dial(way: ChannelRoute, port: number, timeoutMs: number): Promise<PeerConnection> {
    const fd = await dial(this.#set, {
      address: { host: way.host, port },
      nic: way.nic,
      congestion: this.#congestion.begin,
      tuning: socketTuning(this.#config),
      timeoutMs,
    });
    return this.#open(fd);
  }

  // A peer that reset the connection meanwhile has no name any more: the descriptor must not stay.
  #open(fd: number): ControlChannel {
    try {
      return new ControlChannel(this.#set, fd, socketTuning(this.#config), this.#congestion);
    } catch (error) {
      closeSocket(fd);
      throw error;
    }
  }

  listen(address: SocketAddress, onAccepted: (connection: PeerConnection) => void): PeerListener {
    const { host, port } = address;
    return new Listener(this.#set, {
      address: { host: resolveHostNow(host), port },
      congestion: this.#congestion.begin,
      onAccepted: (fd) => this.#onAccepted(fd, onAccepted),
      onRefused: (fd) => this.#onRefused(fd),
    });
  }

  #onRefused(fd: number): void {
    const error = new TcpxError(
      'ERR_SYS_DESCRIPTORS',
      'no file descriptors are left at the server',
    );
    try {
      const connection = this.#open(fd);
      const { code, message } = error;
      const { remedy } = ERROR_CODES[code];
      this.#wants.warn('peer refused', { peer: connection.where, code, reason: message, remedy });
      refusePeer(connection, error);
    } catch {
      // The peer was gone before we looked; its descriptor is closed.
    }
  }

  #onAccepted(fd: number, onAccepted: (connection: PeerConnection) => void): void {
    let connection: ControlChannel;
    try {
      connection = this.#open(fd);
    } catch (error) {
      // The peer was gone before we looked.
      this.#log.info('connection lost', { reason: String(error) });
      return;
    }
    onAccepted(connection);
  }

  nics(peerHost: string): LocalNic[] {
    const family = isIPv6(peerHost) ? 'IPv6' : 'IPv4';
    return listNics(this.#config).map((name) => localNic(name, family));
  }

  assertNics(): void {
    for (const name of listNics(this.#config)) assertNic(name);
  }

  // The list of all addresses costs as much as the rest of an attach: it may be a second old.
  nicOf(host: string): string {
    const nowUs = systemClock.nowUs();
    const isOld = nowUs - this.#nicNamesUs > NIC_NAMES_US;
    if (isOld || !this.#nicNames.has(host)) {
      this.#nicNames = nicNames();
      this.#nicNamesUs = nowUs;
    }
    return this.#nicNames.get(host) ?? '';
  }
}

/** NICs by their addresses. */
function nicNames(): Map<string, string> {
  const names = new Map<string, string>();
  for (const [name, entries] of Object.entries(networkInterfaces())) {
    for (const { address } of entries ?? []) if (!names.has(address)) names.set(address, name);
  }
  return names;
}

function localNic(name: string, family: NicFamily): LocalNic {
  const address = nicAddress(name, family);
  const entry = networkInterfaces()[name]?.find((candidate) => candidate.address === address);
  const prefix = Number(entry?.cidr?.split('/')[1]);
  const { prefixMin, prefixMax } = PREFIXES[family];
  const own = `${address}/${prefix >= prefixMin ? prefix : prefixMax}`;
  return { name, address, networks: [own, ...nicNetworks(name, family)] };
}
