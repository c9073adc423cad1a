// Puts an agent together from its parts; the verbs are in agent.ts.

import { checkOptions } from '../base/argument.js';
import { type Clock, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import { createLog, type Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { plural } from '../base/units.js';
import { ActivityBell } from './activity-bell.js';
import { OWN_METADATA } from './agent-arguments.js';
import type { BackendHandle } from './backend-handle.js';
import { BackendSet, type OpenBackend } from './backend-set.js';
import { checkDesc, type RegDlist } from './descriptors.js';
import { LocalSections } from './local-sections.js';
import { MemViews } from './mem-views.js';
import { MemType } from './memory-type.js';
import { encodeMetadata } from './metadata.js';
import { MetadataEndpoint } from './metadata-endpoint.js';
import { Notifier } from './notifier.js';
import { PluginManager } from './plugin-manager.js';
import { nextGeneration, type PeerLimits, RemotePeers } from './remote-peers.js';
import { tcpxPlugin } from './tcpx-backend.js';
import { AgentTelemetry, isTelemetryOn } from './telemetry.js';
import { UnreadNotifs } from './unread-notifs.js';
import { XferFactory } from './xfer-factory.js';
import { XferRunner } from './xfer-runner.js';

/** What `Agent.create` takes; everything has a default. */
export interface AgentOptions {
  /** Where backends come from; TCPX is registered there if it is not yet. */
  readonly plugins?: PluginManager;
  /** Opens the metadata listener on nixl.listenHost and nixl.listenPort. */
  readonly useListenThread?: boolean;
  /** Whether requests record times and sizes. */
  readonly captureTelemetry?: boolean;
  /** Settings by name, over those of the environment. */
  readonly settings?: Partial<SettingValues>;
  /** Told when a peer is forgotten: lost, withdrawn or invalidated. */
  readonly onPeerEvicted?: (agent: string) => void;
  /** On stderr, as log.level and log.format say, unless given. */
  readonly log?: Log;
  /** Ends the wait for its start with an `AbortError`; one that is open does not hear it. */
  readonly signal?: AbortSignal;
  /**
   * Time, for tests.
   * @internal
   */
  readonly clock?: Clock;
}

export interface AgentParts {
  readonly name: string;
  readonly plugins: PluginManager;
  readonly backends: BackendSet;
  readonly sections: LocalSections;
  readonly peers: RemotePeers;
  readonly factory: XferFactory;
  readonly runner: XferRunner;
  readonly notifier: Notifier;
  readonly unread: UnreadNotifs;
  readonly views: MemViews;
  readonly bell: ActivityBell;
  readonly telemetry: AgentTelemetry;
  readonly endpoint: MetadataEndpoint;
  readonly log: Log;
}

export function assembleAgent(
  name: string,
  options: AgentOptions,
  settings: SettingValues,
): AgentParts {
  const log =
    options.log ?? createLog({ level: settings['log.level'], format: settings['log.format'] });
  const bell = new ActivityBell();
  const plugins = options.plugins ?? new PluginManager();
  if (!plugins.getAvailPlugins().includes(tcpxPlugin.name)) plugins.register(tcpxPlugin);
  const backends = new BackendSet(name, plugins, log);
  const sections = new LocalSections(log);
  const onEvicted = (agent: string) => {
    options.onPeerEvicted?.(agent);
    // Whoever waits for a transfer with that peer must look again.
    bell.ring();
  };
  const limits = peerLimits(settings);
  const peers = new RemotePeers({ ownName: name, backends, limits, log, onEvicted });
  const isCapturing = options.captureTelemetry === true;
  const telemetry = new AgentTelemetry(isTelemetryOn(settings['nixl.telemetry'], isCapturing));
  const self = { name, generation: nextGeneration(), isLive: true };
  const factory = new XferFactory(self, backends, sections, peers);
  const runner = new XferRunner(options.clock ?? systemClock, bell, peers, telemetry, log);
  const notifier = new Notifier(name, backends, peers, bell, log);
  const handlers = {
    ownBlob: () => ownMetadata({ name, backends, sections }, 'answer a pull'),
    onLoad: (blob: Uint8Array, origin: string) => void peers.load(blob, origin),
    onInvalidate: (agent: string, origin: string) => peers.invalidate(agent, origin),
  };
  const endpoint = new MetadataEndpoint({
    handlers,
    frameBytesMax: limits.blobBytes,
    bytesMax: settings['nixl.listenerBytesMax'],
    connectionsMax: settings['nixl.listenerConnectionsMax'],
    log,
  });
  const views = new MemViews(backends, factory, log);
  const unread = new UnreadNotifs(settings['nixl.inboxBytesMax'], log);
  const parts = { name, plugins, backends, sections, peers, factory, runner, notifier };
  return { ...parts, unread, views, bell, telemetry, endpoint, log };
}

function peerLimits(settings: SettingValues): PeerLimits {
  return {
    blobBytes: settings['nixl.metadataBytesMax'],
    peers: settings['nixl.peersMax'],
    regions: settings['nixl.remoteRegionsMax'],
    pushed: {
      peersPerHost: settings['nixl.pushedPerHostMax'],
      regionsPerHost: settings['nixl.pushedRegionsMax'],
    },
  };
}

/** Which part of its metadata an agent gives. */
export interface OwnMetadataOptions {
  /** Only what concerns these. */
  readonly backends?: readonly BackendHandle[];
  /** Whether it tells how to connect; otherwise ranges alone. */
  readonly includeConnInfo?: boolean;
}

/** This agent's metadata: all of it, or what `list` names (an empty list: connections alone). */
export function ownMetadata(
  parts: Pick<AgentParts, 'name' | 'backends' | 'sections'>,
  attempted: string,
  list?: RegDlist,
  options: OwnMetadataOptions = {},
): Uint8Array {
  checkOptions(attempted, options, OWN_METADATA);
  for (const desc of list?.descs ?? []) checkDesc(MemType.DRAM, desc, attempted);
  const selected = parts.backends.select(options.backends);
  const remote = selected.filter((handle) => handle.backend.supportsRemote);
  const isConnOnly = list?.descs.length === 0;
  if (remote.length === 0 && !isConnOnly) throw nobodyReached(selected, list, attempted);
  const hasConnInfo = list === undefined || isConnOnly || options.includeConnInfo === true;
  return encodeMetadata({
    agent: parts.name,
    connections: hasConnInfo ? remote.flatMap(connectionOf) : [],
    sections: isConnOnly ? [] : parts.sections.describe(remote, list),
  });
}

/** NIXL has a status for each: nothing to tell of, nobody for the ranges, nobody who tells them. */
function nobodyReached(
  selected: readonly OpenBackend[],
  list: RegDlist | undefined,
  attempted: string,
): TcpxError {
  const isTaken =
    list !== undefined && selected.some((handle) => handle.memTypes.includes(list.memType));
  const code = isTaken ? 'ERR_CAP_BACKEND' : 'ERR_USAGE_NOT_FOUND';
  return new TcpxError(
    list === undefined ? 'ERR_USAGE_ARGUMENT' : code,
    `${attempted}: no backend here reaches other agents`,
  );
}

function connectionOf({ type, connInfo }: OpenBackend) {
  return connInfo === undefined ? [] : [{ type, info: connInfo }];
}

/** A line for people: no parameter of a backend, which may be a secret. */
export function describeAgent(name: string, { backends, peers }: AgentParts): string {
  const types = backends.all().map((handle) => handle.type);
  const named = types.length === 0 ? 'none' : types.join(', ');
  return `Agent { ${name}, backends: ${named}, ${plural(peers.names().length, 'peer')} }`;
}
