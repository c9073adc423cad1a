// What the matched carrier of a session needs from its engine, so that a simulation can be one.

import type { TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type {
  ChannelIndex,
  Epoch,
  FlightNumber,
  Generation,
  TransferSlot,
} from '../../base/quantity.js';
import type { SettingValues } from '../../base/settings.js';
import type { Region } from '../../memory/region.js';
import type { PluginIdentity } from '../../wire/match-hello.js';
import type { PlannedRegion } from '../../wire/match-plan.js';
import type { SourceEvent } from '../contract.js';
import type { ChannelSet } from './channel-set.js';
import type { BlockPlace } from './chunk-places.js';
import type { RegionWay } from './host-region.js';
import type { IntakeWatch } from './intake-watch.js';
import type { OpenMatch } from './match-connection.js';

export interface MatchedHost {
  readonly regions: MatchedRegions;
  /** The client's: a match connection of this epoch. Absent at the server. */
  readonly connect: ((epoch: Epoch) => Promise<OpenMatch>) | undefined;
  askAgain(epoch: Epoch): void;
  closeSession(error: TcpxError): void;
  after(delayMs: number, act: () => void): () => void;
  /** An entry of the engine's table; throws where there is none. */
  openSlot(chunkCount: number): number;
  finish(slot: TransferSlot, generation: Generation): void;
  /** To the program here: a notification whose data has landed. */
  deliver(bytes: Uint8Array): void;
  /** To the peer's program; resolves when it has landed there. */
  notify(bytes: Uint8Array): Promise<unknown>;
  /** Whether an event of this process has happened; throws when it never will. */
  hasHappened(event: SourceEvent): boolean;
  /**
   * Lets the peer into own regions, each up to its end, as lanes do: registration, key, expiry,
   * rights, bounds. Throws the first refusal, with nothing entered.
   */
  enter(
    regions: readonly PlannedRegion[],
    ends: Float64Array,
    right: 'read' | 'write',
  ): readonly number[];
  leave(entered: readonly number[]): void;
}

/** Regions as plugin processes have them. */
export interface MatchedRegions {
  obstacleTo(region: Region): string;
  assertMapped(slots: readonly number[]): void;
  whenMapped(slots: readonly number[], act: () => void): void;
  ways(places: readonly BlockPlace[]): RegionWay[];
  fillShadows(places: readonly BlockPlace[], lengths: Float64Array): void;
  drainShadows(places: readonly BlockPlace[], lengths: Float64Array): void;
}

export interface MatchedCarrierParts {
  readonly peer: string;
  readonly values: SettingValues;
  readonly log: Log;
  readonly host: MatchedHost;
  readonly ownPlugin: () => PluginIdentity;
  readonly unpackedBy: () => string;
  readonly nics: () => readonly string[];
  readonly channelCount: () => number;
  /** Absent where there are no NICs. */
  readonly intake?: Pick<IntakeWatch, 'mark' | 'judge'>;
  openSet(epoch: Epoch, listener: SetListener): Promise<ChannelSet>;
}

export interface SetListener {
  onPart(flight: FlightNumber, channel: ChannelIndex, durationUs: number): void;
  onBroken(error: TcpxError): void;
}
