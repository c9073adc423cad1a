// Connections to and from peers, as far as a handshake needs them: sockets, or a simulation's.

import type { TcpxError } from '../base/errors.js';
import type { SocketIdentity } from '../os/connection-counters.js';
import type { SocketAddress } from '../os/dial.js';
import type { ControlMessage } from '../wire/control-frame.js';
import type { SessionControl } from './control-keeper.js';
import type { ConnectionFacts } from './exchange.js';
import type { ChannelRoute, LocalNic } from './nic-map.js';

export type Heard =
  | { readonly kind: 'message'; readonly message: ControlMessage }
  | { readonly kind: 'lost'; readonly error: TcpxError }
  | { readonly kind: 'time' };

/** A descriptor that a lane may own. */
export interface DataSocket {
  readonly fd: number;
  readonly socket?: SocketIdentity;
}

/** A connection whose peer has not proved itself yet; afterwards a session's or a lane's. */
export interface PeerConnection extends SessionControl, ConnectionFacts {
  readonly peerHost: string;
  /** What comes next, one of the three; nobody else waits meanwhile. */
  hear(untilUs: number): Promise<Heard>;
  /** Of the kernel's messages to the peer and back so far; undefined where nobody knows. */
  readonly roundTripUs: number | undefined;
  /** It will carry bulk data: options of the socket are set. */
  tune(): void;
  /** It is no control connection any more: whoever gets the descriptor owns it. */
  release(): DataSocket;
}

export interface PeerListener {
  readonly address: SocketAddress;
  close(): void;
}

export interface PeerNetwork {
  nowUs(): number;
  sleepUntil(atUs: number): Promise<void>;
  /** Calls `act` once; nobody waits for it. What it returns keeps it from acting. */
  after(delayMs: number, act: () => void): () => void;
  /** Unguessable, except in a simulation. */
  randomBytes(count: number): Uint8Array;
  resolve(host: string): Promise<string[]>;
  /** Where the other end refuses, the error has the fact `isRefused`. */
  dial(way: ChannelRoute, port: number, timeoutMs: number): Promise<PeerConnection>;
  listen(address: SocketAddress, onAccepted: (connection: PeerConnection) => void): PeerListener;
  /**
   * The NICs that were chosen for data, with addresses of the family of `peerHost`; none where
   * routing decides. One without such an address is an error that names it.
   */
  nics(peerHost: string): LocalNic[];
  /** Throws where a NIC that was chosen is absent, or has no address at all. */
  assertNics(): void;
  /** What the kernel lets one connection have in flight at most; undefined where nobody knows. */
  readonly bufferBytes: number | undefined;
  /** The NIC that has this address; empty when none does. */
  nicOf(host: string): string;
}
