// Notifications that have come to a TCPX backend and wait to be collected. Senders are peers: what
// breaks a rule or floods the inbox costs the sender its session, and nobody else anything.

import { toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { PeerNotification } from '../engine/notification.js';
import type { Session } from '../engine/session.js';
import { agentNameProblem } from './names.js';
import type { NixlNotification } from './notif-codec.js';
import { Unsealer } from './notif-envelope.js';

const INBOX_BYTES_MAX = 256 * 1024 * 1024;
const INBOX_COUNT_MAX = 1 << 20;

export class TcpxInbox {
  readonly #log: Log;
  readonly #unsealers = new WeakMap<Session, Unsealer>();
  readonly #bytesMax: number;
  #arrived: NixlNotification[] = [];
  #bytes = 0;

  constructor(log: Log, bytesMax = INBOX_BYTES_MAX) {
    this.#log = log;
    this.#bytesMax = bytesMax;
  }

  /** A peer has connected; its name becomes a sender's, so it must be one. */
  admit(session: Session): void {
    const problem = agentNameProblem(session.facts.peerName);
    if (problem !== undefined) this.#expel(session, `its name ${problem}`);
  }

  receive({ session, bytes }: PeerNotification): void {
    if (this.#bytes + bytes.length > this.#bytesMax || this.#arrived.length > INBOX_COUNT_MAX) {
      this.#expel(session, `${this.#arrived.length} notifications wait already`);
      return;
    }
    try {
      this.#unsealerOf(session).take(bytes);
    } catch (error) {
      this.#expel(session, toTcpxError(error, 'ERR_WIRE_FRAME', 'notification').message);
    }
  }

  deliver(agent: string, message: Uint8Array): void {
    this.#bytes += message.length;
    this.#arrived.push({ agent, message });
  }

  drain(): NixlNotification[] {
    const arrived = this.#arrived;
    if (arrived.length === 0) return arrived.slice();
    this.#arrived = [];
    this.#bytes = 0;
    return arrived;
  }

  #unsealerOf(session: Session): Unsealer {
    const known = this.#unsealers.get(session);
    if (known !== undefined) return known;
    const unsealer = new Unsealer((message) => this.deliver(session.facts.peerName, message));
    this.#unsealers.set(session, unsealer);
    return unsealer;
  }

  #expel(session: Session, reason: string): void {
    this.#log.warn('peer expelled', { peer: session.peer, reason });
    session.close().catch(() => undefined);
  }
}
