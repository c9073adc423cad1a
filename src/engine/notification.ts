// A message from a peer, delivered after the data that it speaks of.

import type { Session } from './session.js';

/** What a peer sent with `notify`, or with a transfer that has landed. */
export interface PeerNotification {
  /** The session that it came by. */
  readonly session: Session;
  /** Its content; the receiver may keep it. */
  readonly bytes: Uint8Array;
  /** The content as text (UTF-8). */
  readonly text: string;
}

export class ReceivedNotification implements PeerNotification {
  readonly session: Session;
  readonly bytes: Uint8Array;

  constructor(session: Session, bytes: Uint8Array) {
    this.session = session;
    this.bytes = bytes;
  }

  get text(): string {
    return new TextDecoder().decode(this.bytes);
  }
}
