// What the recovery of a session needs from its owner, so that a simulation can be one.

import type { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import type { ChannelIndex, Epoch, LaneIndex } from '../base/quantity.js';
import type { Timers } from '../base/timers.js';

/** How an attempt to attach a channel anew ended. */
export type RedialOutcome = 'attached' | 'failed' | 'refused' | 'unknown';

export interface ChannelLoss {
  readonly loss: number;
  readonly error: TcpxError;
}

export interface RecoveryHost {
  readonly log: Log;
  readonly timers: Timers;
  readonly peer: string;
  nowUs(): number;
  command(lane: LaneIndex, kind: number, words: readonly number[]): void;
  /** Sends it on any living channel, now or when there is one. */
  postSignal(bytes: Uint8Array): void;
  /** Channels have come or gone: transfers may have to move. */
  onChannelsChanged(): void;
  lose(error: TcpxError): void;
  /** For the program, where it listens. */
  tellChannel(channel: ChannelIndex, state: 'up' | 'down'): void;
  tellFailover(channel: ChannelIndex, reason: string): void;
  /** Whether something of the session waits for the peer's word. */
  hasInFlight(): boolean;
  /** The client's: a new connection for the index. Absent where the peer has to come. */
  redial: ((channel: ChannelIndex, epoch: Epoch) => Promise<RedialOutcome>) | undefined;
  /** The server's: asks the client for it, over the control connection. */
  askRedial(channel: ChannelIndex, epoch: Epoch): void;
  /** The peer has lost its end of this control connection. */
  onControlLost(epoch: Epoch): void;
}
