// One agent as the TCPX backend reaches it: connected at first need, by the addresses that its
// connection info offers, and only if it is still the same process that offered them.
//
//   idle ──first use──► connecting ──► ready ──► lost: the peer is gone; only a reload helps
//                           └──► idle again: refused for another reason; the next use tries again

import { formatEndpoint } from '../base/endpoint.js';
import { type ErrorCode, isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import type { ConnInfo } from '../engine/conn-info.js';
import type { Engine } from '../engine/engine.js';
import type { Session } from '../engine/session.js';
import { checkMessageBytes, sealOrdered } from './notif-envelope.js';
import { TransferCost } from './tcpx-cost.js';

/** Errors that mean: that process is not there any more. Nothing else may evict a peer. */
const GONE: readonly ErrorCode[] = [
  'ERR_PEER_LOST',
  'ERR_PEER_GOODBYE',
  'ERR_PEER_TIMEOUT',
  'ERR_PEER_UNREACHABLE',
];

/** What waits until the peer can be written to. */
export interface PeerWaiter {
  proceed(): void;
}

export class TcpxPeer {
  readonly agent: string;
  readonly cost = new TransferCost();
  readonly #engine: Engine;
  readonly #info: ConnInfo;
  #session: Session | undefined;
  #connecting: Promise<void> | undefined;
  #failure: TcpxError | undefined;
  readonly #waiters = new Set<PeerWaiter>();
  #outbox: Uint8Array[] = [];
  #outboxBytes = 0;
  /** Of the message that is being sent, and the session that its number belongs to. */
  #parts: Uint8Array[] = [];
  #partsSession: Session | undefined;
  #sentCount = 0;
  #nextMessageId = 0;

  constructor(engine: Engine, agent: string, info: ConnInfo) {
    this.#engine = engine;
    this.agent = agent;
    this.#info = info;
  }

  /** The session, if transfers can be posted on it now; otherwise begins to make one. */
  readySession(): Session | undefined {
    const session = this.#session;
    if (session?.isReady === true) return session;
    if (this.failure() === undefined) this.connect().catch(() => undefined);
    return undefined;
  }

  /** Why this peer will not come back by itself. */
  failure(): TcpxError | undefined {
    const session = this.#session;
    if (this.#failure !== undefined || session === undefined || session.isReady) {
      return this.#failure;
    }
    this.#session = undefined;
    if (session.error !== undefined && isGone(session.error)) this.#failure = session.error;
    return this.#failure;
  }

  /** Idempotent. */
  async connect(): Promise<void> {
    const failure = this.failure();
    if (failure !== undefined) throw failure;
    if (this.#session !== undefined) return;
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
      this.proceed();
    });
    await this.#connecting;
  }

  wait(waiter: PeerWaiter): void {
    this.#waiters.add(waiter);
  }

  forget(waiter: PeerWaiter): void {
    this.#waiters.delete(waiter);
  }

  get isIdle(): boolean {
    return this.#waiters.size + this.#outbox.length + this.#parts.length === 0;
  }

  /** Lets go what waits, as far as there is a connection and room. */
  proceed(): void {
    this.#flush();
    for (const waiter of this.#waiters) {
      const canStart = this.readySession() !== undefined && this.#engine.hasRoom;
      if (!canStart && this.failure() === undefined) return;
      this.#waiters.delete(waiter);
      waiter.proceed();
    }
  }

  /** Fire and forget, in order. */
  send(message: Uint8Array): void {
    checkMessageBytes(message);
    const failure = this.failure();
    if (failure !== undefined) throw failure;
    const most = this.#engine.config.values['nixl.outboxBytesMax'];
    if (this.#outboxBytes + message.length > most) {
      throw new TcpxError(
        'ERR_USAGE_STATE',
        `notify ${this.agent}: ${this.#outboxBytes} bytes of messages wait already, ` +
          `nixl.outboxBytesMax allows ${most}`,
      );
    }
    this.#outbox.push(Uint8Array.from(message));
    this.#outboxBytes += message.length;
    this.#flush();
  }

  /** Names a message that travels in parts without an order. */
  nextMessageId(): number {
    this.#nextMessageId = (this.#nextMessageId + 1) >>> 0;
    return this.#nextMessageId;
  }

  async disconnect(): Promise<void> {
    this.#failure ??= new TcpxError('ERR_XFER_CANCELLED', `${this.agent} was disconnected here`);
    await this.#connecting?.catch(() => undefined);
    const session = this.#session;
    this.#session = undefined;
    this.proceed();
    if (session !== undefined) await this.#engine.drive(session.close());
  }

  #flush(): void {
    if (this.#outbox.length + this.#parts.length === 0) return;
    if (this.#failure !== undefined) {
      this.#outbox = [];
      this.#outboxBytes = 0;
      this.#parts = [];
      return;
    }
    const session = this.readySession();
    if (session === undefined) return;
    if (session !== this.#partsSession) {
      this.#partsSession = session;
      this.#parts = [];
      this.#sentCount = 0;
    }
    let taken = 0;
    while (this.#engine.hasRoom) {
      const message = this.#parts.length === 0 ? this.#outbox[taken] : undefined;
      if (message !== undefined) {
        taken++;
        this.#outboxBytes -= message.length;
        this.#parts = sealOrdered(message, ++this.#sentCount);
      }
      const [part] = this.#parts;
      if (part === undefined || !canPost(session, part)) break;
      this.#parts.shift();
    }
    if (taken > 0) this.#outbox.splice(0, taken);
  }

  async #open(): Promise<void> {
    let failure: TcpxError | undefined;
    for (const host of this.#info.hosts) {
      try {
        this.#session = await this.#dial(host);
        return;
      } catch (error) {
        failure = toTcpxError(error, 'ERR_PEER_UNREACHABLE', `connect to ${this.agent}`);
      }
    }
    failure ??= new TcpxError('ERR_PEER_UNREACHABLE', `connect to ${this.agent}: no address`);
    if (isGone(failure)) this.#failure ??= failure;
    // Refused, but there: what waits is told now, and the next use tries again.
    else this.#refuse(failure);
    throw failure;
  }

  #refuse(error: TcpxError): void {
    this.#failure = error;
    this.proceed();
    this.#failure = undefined;
  }

  async #dial(host: string): Promise<Session> {
    const { port } = this.#info;
    const session = await this.#engine.connect(host, { port, isPatient: false });
    const { peerName, peerInstance } = session;
    if (peerName === this.agent && peerInstance === this.#info.instance) return session;
    await this.#engine.drive(session.close());
    throw new TcpxError(
      'ERR_PEER_LOST',
      `connect to ${this.agent} at ${formatEndpoint(host, this.#info.port)}: another process ` +
        'answers there now',
    );
  }
}

/** Posts the message; false where descriptors and other messages leave no memory for it now. */
function canPost(session: Session, part: Uint8Array): boolean {
  try {
    session.notify(part);
    return true;
  } catch (error) {
    if (isTcpxError(error, 'ERR_CONFIG_VALUE')) return false;
    throw error;
  }
}

export function isGone(error: unknown): boolean {
  return isTcpxError(error) && GONE.includes(error.code);
}
