// The connection that carries the frames of one epoch, as the matched carrier sees it: whole frames
// in order, until it ends. A simulation has its own.

import type { TcpxError } from '../../base/errors.js';
import type { MatchFrame } from '../../wire/match-frame.js';

export interface MatchHandler {
  onFrame(frame: MatchFrame): void;
  /** Once: the end, a failure, or a rule that the peer broke. Not after `close`. */
  onEnd(error: TcpxError): void;
}

export interface MatchConnection {
  readonly isOpen: boolean;
  /** Queues what the peer does not take; throws where that is too much. */
  send(frame: Uint8Array): void;
  /** Reads what has arrived, without waiting. */
  poll(): void;
  /** The handler hears nothing more. */
  close(): void;
}

/** Takes a connection that has proved itself into use. */
export type OpenMatch = (handler: MatchHandler) => MatchConnection;
