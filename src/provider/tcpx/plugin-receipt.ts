// What a receipt says about a transfer through the plugin, from counters that the plugin processes
// keep anyway.

import type { PluginIdentity } from '../../wire/match-hello.js';
import type { ChannelCounters } from './channel-counters.js';
import type { DevmemVerdict } from './devmem-verdict.js';
import type { ThreadPlacement } from './helper-threads.js';
import type { RegionWay } from './host-region.js';

/** What the tcpx provider adds to a receipt. */
export interface PluginReceipt {
  /** Whether the plugin is a real one or the emulator. */
  readonly evidence: 'measured' | 'emulated';
  /** How this end's memory reaches the plugin processes: each way once. */
  readonly memory: readonly RegionWay[];
  /** How, and who: the GPU, or the processor where there is none; `none` where nothing does. */
  readonly unpack: string;
  /** Whether the helper threads of this end's plugin processes are on the bound cores. */
  readonly threads: readonly ThreadPlacement[];
  /** Per channel, since it was opened, of this end's direction. */
  readonly counters: readonly ChannelCounters[];
  /**
   * Whether the NICs that received it did so in device memory. Those of this end for a READ, since
   * an earlier look, with all that came in meanwhile; unknown for a WRITE, which the peer's NICs
   * receive, and where this end has looked a moment ago.
   */
  readonly devmem: DevmemVerdict;
  /** The plugin at this end. */
  readonly own: PluginIdentity;
  /** The plugin at the other end. */
  readonly peer: PluginIdentity;
  /** `known` for the versions that this was written for; others are untested. */
  readonly standing: 'known' | 'untested';
}

const KNOWN_VERSIONS: readonly RegExp[] = [/^3\.1\.9(\.|$)/];

export function pluginStanding(...plugins: readonly PluginIdentity[]): 'known' | 'untested' {
  const isKnown = (version: string): boolean => KNOWN_VERSIONS.some((known) => known.test(version));
  return plugins.every(({ version }) => isKnown(version)) ? 'known' : 'untested';
}

/** The verdict of all plugin processes of an end together, with the reasons. */
export function describeThreads(placements: readonly ThreadPlacement[]): string {
  const astray = placements.filter(({ verdict }) => verdict === 'differs');
  if (astray.length > 0) return `differs: ${astray.map(({ reason }) => reason).join('; ')}`;
  const verdicts = [...new Set(placements.map(({ verdict }) => verdict))];
  return verdicts.length === 0 ? 'unseen' : verdicts.join(', ');
}
