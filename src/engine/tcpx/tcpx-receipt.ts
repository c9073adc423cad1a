// What a transfer through the plugin did, from counters that the plugin processes keep anyway.

import type { ChannelCounters } from '../../provider/tcpx/channel-counters.js';
import type { SettingValues } from '../../base/settings.js';
import type { ThreadPlacement } from '../../provider/tcpx/helper-threads.js';
import { RECEIVE, SEND } from '../../provider/tcpx/host-layout.js';
import type { RegionWay } from '../../provider/tcpx/host-region.js';
import type { PluginIdentity } from './control-message.js';
import type { Flight } from './flight.js';
import type { SessionChannels } from './session-channels.js';

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
  /** How announcements and confirmations went. */
  readonly control: 'stream' | 'session';
  /** How this end's memory reaches the plugin processes: each way once. */
  readonly memory: readonly RegionWay[];
  /** How, and who: the GPU, or the processor where there is none; `none` where nothing does. */
  readonly unpack: string;
  /** Whether the helper threads of this end's plugin processes are on the bound cores. */
  readonly threads: readonly ThreadPlacement[];
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

export interface ReceiptParts {
  readonly peer: string;
  readonly trustName: string;
  readonly values: SettingValues;
  readonly channels: SessionChannels;
  readonly flight: Flight;
  readonly memory: readonly RegionWay[];
  readonly operation: 'write' | 'read';
  readonly durationUs: number;
}

export function makeReceipt(parts: ReceiptParts): TcpxReceipt {
  const { channels, flight, values } = parts;
  const { plan, kind } = flight;
  const plugin = channels.ownPlugin;
  const peerPlugin = channels.peerPlugin ?? plugin;
  const { set } = channels;
  const counters = set.counters(kind.role === 'send' ? SEND : RECEIVE);
  const isHostRecv = values['tcpx.hostRecv'];
  return {
    peer: parts.peer,
    path: isHostRecv ? 'tcpx host-recv' : 'tcpx',
    evidence: plugin.isEmulated || peerPlugin.isEmulated ? 'emulated' : 'measured',
    trust: parts.trustName,
    operation: parts.operation,
    bytes: plan.totalBytes,
    bytesConfirmed: plan.totalBytes,
    chunks: plan.chunkCount,
    channels: counters.map((counter, channel) => ({
      channel,
      nic: set.nics[channel] ?? '',
      bytes: plan.channelBytes[channel] ?? 0,
      chunks: plan.channelChunks[channel] ?? 0,
      counters: counter,
    })),
    durationUs: parts.durationUs,
    control: channels.controlPath,
    memory: parts.memory,
    unpack: isHostRecv ? 'none' : `${values['tcpx.unpack']} (${channels.unpackedBy})`,
    threads: set.placements(),
    plugin,
    peerPlugin,
    pluginStanding: pluginStanding(plugin, peerPlugin),
  };
}

/** The verdict of all plugin processes of an end together, with the reasons. */
export function describeThreads(placements: readonly ThreadPlacement[]): string {
  const astray = placements.filter(({ verdict }) => verdict === 'differs');
  if (astray.length > 0) return `differs: ${astray.map(({ reason }) => reason).join('; ')}`;
  const verdicts = [...new Set(placements.map(({ verdict }) => verdict))];
  return verdicts.length === 0 ? 'unseen' : verdicts.join(', ');
}
