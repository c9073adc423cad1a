// Why a session is lost whose channels could not be brought back.

import { TcpxError } from '../base/errors.js';

/** Nothing has moved for as long as a session may wait; `cause`: why a channel was lost last. */
export function silenceError(
  peer: string,
  reconnectMs: number,
  cause: TcpxError | undefined,
): TcpxError {
  const why = cause === undefined ? '' : `: ${cause.message.replace(`${peer}: `, '')}`;
  return new TcpxError('ERR_PEER_LOST', `${peer}: no connection for ${reconnectMs} ms${why}`, {
    ...(cause === undefined ? {} : { cause }),
    facts: { peer, reconnectMs },
  });
}

/** The peer has said that there is nothing to wait for. */
export function goneError(
  peer: string,
  outcome: 'refused' | 'unknown',
  cause: TcpxError | undefined,
): TcpxError {
  const isUnknown = outcome === 'unknown';
  const code = isUnknown ? 'ERR_PEER_STALE_SESSION' : 'ERR_PEER_LOST';
  const why = isUnknown ? 'does not know the session any more' : 'does not listen any more';
  const before = cause === undefined ? '' : ` (${cause.message.replace(`${peer}: `, '')})`;
  return new TcpxError(code, `${peer} ${why}${before}`, {
    ...(cause === undefined ? {} : { cause }),
    facts: { peer },
  });
}
