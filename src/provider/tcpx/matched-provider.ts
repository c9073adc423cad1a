// What an engine needs of a provider of matched carriers: plugin processes, or a simulation's.

import type { SourceEvent } from '../contract.js';
import type { MatchedCarrier } from './matched-carrier.js';
import type { MatchedHost, MatchedRegions } from './matched-host.js';

export interface MatchedProvider {
  readonly regions: MatchedRegions;
  /** The matched carrier of a session. */
  carrier<S>(peer: string, host: MatchedHost): MatchedCarrier<S>;
  /** Whether the process stays for its sake. */
  hold(isHeld: boolean): void;
  hasHappened(event: SourceEvent): boolean;
  /** Blocks the thread until a process or a peer has said something, or the time is over. */
  wait(timeoutMs: number): void;
}
