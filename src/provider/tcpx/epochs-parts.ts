// What the epochs of a session need from their owner.

import type { TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { Epoch } from '../../base/quantity.js';
import type { SettingValues } from '../../base/settings.js';
import type { MatchFrame } from '../../wire/match-frame.js';
import type { PluginIdentity } from '../../wire/match-hello.js';
import type { ChannelSet } from './channel-set.js';
import type { OpenMatch } from './match-connection.js';

export interface EpochsParts {
  readonly peer: string;
  readonly log: Log;
  readonly values: SettingValues;
  readonly ownPlugin: () => PluginIdentity;
  readonly nics: () => readonly string[];
  /** Channels up to their handles. */
  openSet(epoch: Epoch): Promise<ChannelSet>;
  /** The client's: a connection of this epoch that has proved itself. Absent at the server. */
  readonly connect: ((epoch: Epoch) => Promise<OpenMatch>) | undefined;
  /** The server's: asks the client for the epoch after this one, which is down. */
  askAgain(epoch: Epoch): void;
  /** A frame about a transfer. */
  onFrame(frame: MatchFrame): void;
  /**
   * The epoch is over. `fenced` resolves when nothing of it lands at this end any more, with the
   * error of the end and what both ends know of it. Returns whether something may still land at
   * the peer: then its word is waited for longer.
   */
  onDown(fenced: Promise<TcpxError>): boolean;
  /** The peer broke a rule: that costs it the session. */
  onViolation(error: TcpxError): void;
  after(delayMs: number, act: () => void): () => void;
}
