// A message from a peer, delivered after the data that it speaks of.

import type { Session } from './session.js';

export interface Notification {
  readonly session: Session;
  readonly bytes: Uint8Array;
}
