// What a driver says about one NIC beyond sysfs. Filled by ioctl and netlink on this machine, or
// from the JSON that a capture wrote; every part is optional because every driver leaves some out.

import type { ReadGap } from './read-gap.js';

export interface EthtoolData {
  readonly source: 'ioctl' | 'capture';
  readonly driver: EthtoolDriver | undefined;
  readonly link: EthtoolLink | undefined;
  readonly channels: EthtoolChannels | undefined;
  readonly rings: EthtoolRings | undefined;
  readonly coalesce: EthtoolCoalesce | undefined;
  readonly features: Readonly<Record<string, EthtoolFeature>>;
  readonly privateFlags: Readonly<Record<string, boolean>>;
  /** Receive queue of each entry of the hash table that spreads flows (RSS). */
  readonly rssTable?: readonly number[] | undefined;
  /** Driver counters under the driver's own names; unknown names are kept. */
  readonly statistics: Readonly<Record<string, number>>;
  /** Requests that the driver refused, by name of the request. */
  readonly gaps: readonly ReadGap[];
}

export interface EthtoolDriver {
  readonly driver: string;
  readonly version: string;
  readonly firmwareVersion: string;
  readonly busInfo: string;
}

export interface EthtoolLink {
  readonly speedMbps: number | undefined;
  readonly duplex: 'half' | 'full' | undefined;
  readonly isAutoNegotiated: boolean;
}

export interface EthtoolChannels {
  readonly rx: number;
  readonly tx: number;
  readonly combined: number;
  readonly other: number;
  readonly rxMax: number;
  readonly txMax: number;
  readonly combinedMax: number;
}

export interface EthtoolRings {
  readonly rx: number;
  readonly tx: number;
  readonly rxMax: number;
  readonly txMax: number;
  /** Header split; only netlink tells. */
  readonly tcpDataSplit: 'unknown' | 'off' | 'on' | undefined;
}

export interface EthtoolCoalesce {
  readonly rxUsecs: number;
  readonly rxFrames: number;
  readonly txUsecs: number;
  readonly txFrames: number;
  readonly isAdaptiveRx: boolean;
  readonly isAdaptiveTx: boolean;
}

export interface EthtoolFeature {
  readonly isActive: boolean;
  /** Neither the driver nor the kernel lets it change. */
  readonly isFixed: boolean;
}
