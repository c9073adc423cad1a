// What a transfer through the plugin did, from counters that the plugin processes keep anyway.

import type { ChannelCounters } from '../../transport/tcpx/channel-counters.js';
import type { PluginIdentity } from './control-message.js';

export interface TcpxChannelReceipt {
  readonly channel: number;
  readonly nic: string;
  readonly bytes: number;
  readonly chunks: number;
  /** Since the channel was opened, of this end's direction. */
  readonly counters: ChannelCounters;
}

export interface TcpxReceipt {
  readonly peer: string;
  readonly path: 'tcpx' | 'tcpx host-recv';
  readonly evidence: 'measured' | 'emulated';
  readonly trust: string;
  readonly operation: 'write' | 'read';
  readonly bytes: number;
  readonly bytesConfirmed: number;
  readonly chunks: number;
  readonly channels: readonly TcpxChannelReceipt[];
  readonly durationUs: number;
  /** The processor unpacks where regions are host memory; `none` where nothing does. */
  readonly unpack: string;
  readonly plugin: PluginIdentity;
  readonly peerPlugin: PluginIdentity;
  /** `known` for the versions that this was written for; others are untested. */
  readonly pluginStanding: 'known' | 'untested';
}

const KNOWN_VERSIONS: readonly RegExp[] = [/^3\.1\.9(\.|$)/];

export function pluginStanding(...plugins: readonly PluginIdentity[]): 'known' | 'untested' {
  const isKnown = (version: string): boolean => KNOWN_VERSIONS.some((known) => known.test(version));
  return plugins.every(({ version }) => isKnown(version)) ? 'known' : 'untested';
}
