// Notifications that have come to a TCPX backend and wait: to be collected, for their turn, or for
// their rest. Senders are peers: what breaks a rule or holds too much costs the sender its session,
// and nobody else anything.

import { type ErrorCode, toTcpxError } from '../base/errors.js';
import { LimitedLog } from '../base/limited-log.js';
import type { Log } from '../base/log.js';
import type { PeerNotification } from '../engine/notification.js';
import type { Session } from '../engine/session.js';
import { agentNameProblem } from './names.js';
import type { NixlNotification } from './notif-codec.js';
import { MESSAGE_COST_BYTES, Unsealer } from './notif-envelope.js';

export interface InboxLimits {
  /** Of all senders together. */
  readonly bytesMax: number;
  /** Of one sender. */
  readonly peerBytesMax: number;
  /** Of one sender: messages in parts, and before their turn. */
  readonly partialsMax: number;
  readonly earlyMax: number;
}

/** What one session has sent and still waits here. */
interface Sender {
  readonly unsealer: Unsealer;
  /** Whole, and not collected. */
  arrivedBytes: number;
  isExpelled: boolean;
}

interface Arrived extends NixlNotification {
  /** None for those that the agent sends itself. */
  readonly sender: Sender | undefined;
}

export class TcpxInbox {
  readonly #log: LimitedLog;
  readonly #limits: InboxLimits;
  readonly #senders = new Map<Session, Sender>();
  #arrived: Arrived[] = [];
  #arrivedBytes = 0;
  /** Of all senders, whose messages wait for their turn or their rest. */
  #waitingBytes = 0;

  constructor(log: Log, limits: InboxLimits) {
    this.#log = new LimitedLog(log);
    this.#limits = limits;
  }

  /** Bytes of peers that are held here. */
  get heldBytes(): number {
    return this.#arrivedBytes + this.#waitingBytes;
  }

  /** A peer has connected; its name becomes a sender's, so it must be one. */
  admit(session: Session): void {
    const problem = agentNameProblem(session.peerName);
    if (problem === undefined) return;
    this.#expel(session, this.#senderOf(session), 'ERR_WIRE_FRAME', `its name ${problem}`);
  }

  receive({ session, bytes }: Pick<PeerNotification, 'session' | 'bytes'>): void {
    const sender = this.#senderOf(session);
    // What was on its way when it was expelled.
    if (sender.isExpelled) return;
    const { bytesMax, peerBytesMax } = this.#limits;
    const cost = bytes.length + MESSAGE_COST_BYTES;
    if (heldOf(sender) + cost > peerBytesMax) {
      const rule = `nixl.inboxPeerBytesMax: ${peerBytesMax} bytes of it wait`;
      this.#expel(session, sender, 'ERR_WIRE_LIMIT', rule);
      return;
    }
    while (this.heldBytes + cost > bytesMax) {
      const [busiest, held] = this.#busiest(session, sender);
      const rule = `nixl.inboxBytesMax: ${bytesMax} bytes wait, most are its own`;
      this.#expel(busiest, held, 'ERR_WIRE_LIMIT', rule);
      this.#discard(held);
      if (busiest === session) return;
    }
    this.#take(session, sender, bytes);
  }

  #take(session: Session, sender: Sender, bytes: Uint8Array): void {
    const before = sender.unsealer.waitingBytes;
    try {
      sender.unsealer.take(bytes);
      this.#waitingBytes += sender.unsealer.waitingBytes - before;
    } catch (error) {
      this.#waitingBytes += sender.unsealer.waitingBytes - before;
      const { message } = toTcpxError(error, 'ERR_WIRE_FRAME', 'notification');
      this.#expel(session, sender, 'ERR_WIRE_FRAME', message);
    }
  }

  /** Without a sender: the agent's own. */
  deliver(agent: string, message: Uint8Array, sender?: Sender): void {
    const cost = message.length + MESSAGE_COST_BYTES;
    this.#arrivedBytes += cost;
    if (sender !== undefined) sender.arrivedBytes += cost;
    this.#arrived.push({ agent, message, sender });
  }

  drain(): NixlNotification[] {
    const arrived = this.#arrived.map(({ agent, message }) => ({ agent, message }));
    this.#arrived = [];
    this.#arrivedBytes = 0;
    for (const sender of this.#senders.values()) sender.arrivedBytes = 0;
    return arrived;
  }

  // Of one that took the room of all: the others' messages are worth more.
  #discard(sender: Sender): void {
    this.#arrived = this.#arrived.filter((one) => one.sender !== sender);
    this.#arrivedBytes -= sender.arrivedBytes;
    sender.arrivedBytes = 0;
  }

  #senderOf(session: Session): Sender {
    const known = this.#senders.get(session);
    if (known !== undefined) return known;
    const deliver = (message: Uint8Array): void => {
      this.deliver(session.peerName, message, sender);
    };
    const { peerBytesMax, partialsMax, earlyMax } = this.#limits;
    const waiting = { waitingBytesMax: peerBytesMax, partialsMax, earlyMax };
    const unsealer = new Unsealer(deliver, waiting);
    const sender: Sender = { unsealer, arrivedBytes: 0, isExpelled: false };
    this.#senders.set(session, sender);
    void session.closed.then(() => this.#forget(session, sender));
    return sender;
  }

  #busiest(session: Session, sender: Sender): [Session, Sender] {
    let busiest: [Session, Sender] = [session, sender];
    for (const [other, held] of this.#senders) {
      if (heldOf(held) > heldOf(busiest[1]) && !held.isExpelled) busiest = [other, held];
    }
    return busiest;
  }

  // What is not whole is let go of at once.
  #expel(session: Session, sender: Sender, code: ErrorCode, reason: string): void {
    sender.isExpelled = true;
    this.#forget(session, sender);
    this.#senders.set(session, sender);
    this.#log.warn('peer expelled', { peer: session.peer, code, reason });
    session.close().catch(() => undefined);
  }

  #forget(session: Session, sender: Sender): void {
    this.#waitingBytes -= sender.unsealer.waitingBytes;
    sender.unsealer.clear();
    this.#senders.delete(session);
  }
}

function heldOf(sender: Sender): number {
  return sender.arrivedBytes + sender.unsealer.waitingBytes;
}
