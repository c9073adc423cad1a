// A post of this end until it is settled, and what becomes of it.

import type { TcpxError } from '../../base/errors.js';
import type { PluginIdentity } from '../../wire/match-hello.js';
import type { DataOperation, Outcome, PostExtra } from '../contract.js';
import type { ChannelSet } from './channel-set.js';
import type { DerivedPlan } from './described-plan.js';
import type { Flight } from './flight.js';
import { RECEIVE, SEND } from './host-layout.js';
import type { RegionWay } from './host-region.js';
import type { MatchedRequest } from './matched-request.js';
import { pluginStanding } from './plugin-receipt.js';

export class OwnPost {
  readonly transfer: number;
  readonly operation: DataOperation;
  readonly request: MatchedRequest;
  readonly extra: PostExtra;
  /** In the engine's table; known from its submission on. */
  place = { slot: -1, generation: -1 };
  /** Of a READ that was asked for: what the owner will announce. */
  derived: DerivedPlan | undefined;
  outcome: Outcome | undefined;
  isCancelled = false;
  isOver = false;

  constructor(
    transfer: number,
    operation: DataOperation,
    request: MatchedRequest,
    extra: PostExtra,
  ) {
    this.transfer = transfer;
    this.operation = operation;
    this.request = request;
    this.extra = extra;
  }
}

const NOTHING = { failure: 0, retries: 0, damaged: 0, damagedWhere: '', sessionError: undefined };

export function failed(error: TcpxError, isCancelled: boolean): Outcome {
  return { ...NOTHING, error, isCancelled, channels: [] };
}

export interface Carried {
  readonly set: ChannelSet;
  readonly plugin: PluginIdentity;
  readonly peerPlugin: PluginIdentity;
  readonly memory: readonly RegionWay[];
  readonly unpack: string;
}

export function succeeded(flight: Flight, carried: Carried): Outcome {
  const { plan } = flight.derived;
  const { set, plugin, peerPlugin } = carried;
  const isEmulated = plugin.isEmulated || peerPlugin.isEmulated;
  return {
    ...NOTHING,
    channels: set.nics.map((nic, channel) => ({
      channel,
      nic,
      bytes: plan.channelBytes[channel] ?? 0,
      chunks: plan.channelChunks[channel] ?? 0,
    })),
    plugin: {
      evidence: isEmulated ? 'emulated' : 'measured',
      memory: carried.memory,
      unpack: carried.unpack,
      threads: set.placements(),
      counters: set.counters(flight.kind.role === 'send' ? SEND : RECEIVE),
      own: plugin,
      peer: peerPlugin,
      standing: pluginStanding(plugin, peerPlugin),
    },
  };
}
