// States of a session, as a table: absent transitions are bugs.

import { assert } from '../base/assert.js';

export const SessionState = {
  /** Channels are being attached; transfers are refused. */
  Attaching: 'attaching',
  /** Transfers may be posted. */
  Ready: 'ready',
  /** The end was seen or asked for; lanes give up what is in flight. */
  Closing: 'closing',
  /** Every lane has let go; the index may be reused. */
  Closed: 'closed',
} as const;
/** Where a session is on its way: `attaching`, `ready`, `closing`, `closed`. */
export type SessionState = (typeof SessionState)[keyof typeof SessionState];

const NEXT: Readonly<Record<SessionState, readonly SessionState[]>> = {
  attaching: [SessionState.Ready, SessionState.Closing],
  ready: [SessionState.Closing],
  closing: [SessionState.Closed],
  closed: [],
};

export function nextSessionState(from: SessionState, to: SessionState): SessionState {
  assert(NEXT[from].includes(to), `session goes from ${from} to ${to}`);
  return to;
}
