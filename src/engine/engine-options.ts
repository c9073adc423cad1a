// What an engine is opened with, and how it connects.

import {
  checkFlag,
  checkFunction,
  checkLog,
  checkOptions,
  checkPort,
  checkRecord,
  checkSignal,
  checkText,
  checkTime,
  checkWhole,
  TIMED_WAIT,
  wrongArgument,
} from '../base/argument.js';
import type { Config } from '../base/config.js';
import { parseEndpoint } from '../base/endpoint.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import type { RegionSource } from '../memory/region.js';
import type { RegionShare } from '../provider/tcpx/region-share.js';
import type { TcpxProviderOptions } from '../provider/tcpx/tcpx-provider.js';
import type { PeerNotification } from './notification.js';
import { type ReconnectOptions, reconnectOptionsOf } from './reconnection.js';
import type { ConnectWait, Session } from './session.js';

/** What `Engine.open` takes; everything has a default. */
export interface EngineOptions {
  /** How peers see this agent; host name and process id by default. */
  readonly name?: string;
  /** Settings by name; what is not given comes from the environment or its default. */
  readonly settings?: Partial<SettingValues>;
  /** A configuration that was loaded already, instead of `settings`. */
  readonly config?: Config;
  /** Instead of lines on stderr. */
  readonly log?: Log;
  /** Called for every session that a peer has opened. */
  readonly onSession?: (session: Session) => void;
  /** Called for every notification of a peer, after the data before it has landed. */
  readonly onNotification?: (notification: PeerNotification) => void;
  /**
   * Module that stands in for the CUDA driver, for tests; there is no fallback to it.
   * @internal
   */
  readonly gpuModule?: URL;
  /** The GPU whose memory is moved, where it is one: its NICs are the plugin's default. */
  readonly gpu?: number;
  /** Added to the environment of the plugin processes. */
  readonly pluginEnvironment?: Readonly<Record<string, string>>;
  /**
   * For tests: changes what the plugin processes are told.
   * @internal
   */
  readonly pluginOverrides?: TcpxProviderOptions['hostOverrides'];
  /**
   * How plugin processes reach memory that this process has itself from another one, which cannot
   * be exported a second time; undefined where they cannot. Asked for every region, once.
   * @internal
   */
  readonly shareOf?: (source: RegionSource) => RegionShare | undefined;
  /**
   * One of a node service, whose thread does nothing else: what peers post to its own lane lands
   * there too, and would stand still while that thread did something else. Channels and threads
   * come when they are needed: many clients have an engine each.
   * @internal
   */
  readonly isServed?: boolean;
  /** Something happened: a transfer may have finished, a session begun or ended. */
  readonly onActivity?: () => void;
  /** Ends the wait for its start with an `AbortError`; an engine that is open does not hear it. */
  readonly signal?: AbortSignal;
}

const OPEN_OPTIONS = {
  ...{ name: checkText, settings: checkRecord, config: checkConfig, log: checkLog },
  ...{ onSession: checkFunction, onNotification: checkFunction, onActivity: checkFunction },
  ...{ gpu: checkWhole, gpuModule: checkRecord, signal: checkSignal },
  ...{
    isServed: checkFlag,
    pluginEnvironment: checkTexts,
    pluginOverrides: checkRecord,
    shareOf: checkFunction,
  },
};

export function checkEngineOptions(options: EngineOptions): void {
  checkOptions('Engine.open', options, OPEN_OPTIONS);
}

function checkTexts(what: string, texts: unknown): void {
  checkRecord(what, texts);
  for (const text of Object.values(texts)) {
    if (typeof text !== 'string') throw wrongArgument(what, 'texts by name', text);
  }
}

function isWhole(values: unknown): boolean {
  return typeof values === 'object' && values !== null && 'session.nics' in values;
}

function checkConfig(what: string, config: unknown): void {
  checkRecord(what, config);
  const values: unknown = 'values' in config ? config.values : undefined;
  if (!isWhole(values)) throw wrongArgument(what, 'a configuration, as of an engine', config);
}

/** What `register` has returned. */
export function checkRegion(region: unknown): void {
  checkRecord('deregister: region', region);
  const numbers = ['id', 'generation'].map((name): unknown => Reflect.get(region, name));
  if ('descriptor' in region && numbers.every(Number.isSafeInteger)) return;
  throw wrongArgument('deregister: region', 'what register returned', region);
}

export function checkPromise(promise: unknown): void {
  const then: unknown = (promise as { then?: unknown } | null | undefined)?.then;
  if (typeof then !== 'function')
    throw wrongArgument('drive: what it waits for', 'a promise', promise);
}

/** How a peer is tried. */
export interface ConnectOptions extends ConnectWait {
  /** Where the text names none; `session.port` where neither does. */
  readonly port?: number;
  /** False: a peer that refuses is an error at once, not one that may come yet. */
  readonly isPatient?: boolean;
  /**
   * Makes a lost session anew, by itself: true for the defaults, or how. Transfers in flight fail
   * all the same. Each session that follows comes by the event `reopen`, with the listeners of the
   * lost one; the names of the peer are looked up there as before.
   */
  readonly reconnect?: boolean | ReconnectOptions;
}

/** How memory is let go. */
export interface DeregisterOptions {
  /** Time for what is in flight, in ms; as long as peers can hold memory where it is not given. */
  readonly waitMs?: number;
  /** Ends the wait with an `AbortError`; the region stays registered. */
  readonly signal?: AbortSignal;
}

export function deregisterOptionsOf(given: number | DeregisterOptions): DeregisterOptions {
  const options = typeof given === 'number' ? { waitMs: given } : given;
  checkOptions('deregister', options, { waitMs: checkTime, signal: checkSignal });
  return options;
}

/** Where an engine listens: text as `host:port`, a port alone, or both apart. */
export type ListenPlace = string | number | { readonly host?: string; readonly port?: number };

const CONNECT_OPTIONS = {
  ...TIMED_WAIT,
  port: checkPort,
  isPatient: checkFlag,
  // Its reader checks it.
  reconnect: () => undefined,
};

/** Where to listen: what was asked for, then the settings. */
export function listenAddress(
  where: ListenPlace,
  values: SettingValues,
  acceptsNetwork: boolean,
): { readonly host: string; readonly port: number } {
  const asked = placeOf(where);
  const base = values['session.port'];
  const everybody = acceptsNetwork ? '::' : '127.0.0.1';
  return {
    host: asked.host ?? (values['session.bind'] || everybody),
    port: asked.port ?? (base === 0 ? 0 : base + values['session.portIndex']),
  };
}

function placeOf(where: ListenPlace): { readonly host?: string; readonly port?: number } {
  if (typeof where === 'string') return parseEndpoint(where);
  const place = typeof where === 'number' ? { port: where } : where;
  checkRecord("listen: where ('host:port', a port, or { host, port })", place);
  checkOptions('listen', place, { host: checkText, port: checkPort });
  return place;
}

/** Whom to connect to, and for how long to try. */
export function connectOptions(
  where: string,
  given: number | ConnectOptions,
  values: SettingValues,
) {
  checkText('connect: the peer', where);
  const options = typeof given === 'number' ? { port: given } : given;
  checkOptions('connect', options, CONNECT_OPTIONS);
  const { host, port = options.port } = parseEndpoint(where);
  return {
    reconnect: reconnectOptionsOf(options.reconnect),
    host,
    port: port ?? values['session.port'] + values['session.portIndex'],
    isPatient: options.isPatient ?? true,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  };
}
