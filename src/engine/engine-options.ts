// What an engine is opened with, and how it connects.

import { checkText } from '../base/argument.js';
import type { Config } from '../base/config.js';
import { parseEndpoint } from '../base/endpoint.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import type { TcpxProviderOptions } from '../provider/tcpx/tcpx-provider.js';
import type { PeerNotification } from './notification.js';
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
  /** Module that stands in for the CUDA driver, for tests; there is no fallback to it. */
  readonly gpuModule?: URL;
  /** The GPU whose memory is moved, where it is one: its NICs are the plugin's default. */
  readonly gpu?: number;
  /** Added to the environment of the plugin processes. */
  readonly pluginEnvironment?: Readonly<Record<string, string>>;
  /** For tests: changes what the plugin processes are told. */
  readonly pluginOverrides?: TcpxProviderOptions['hostOverrides'];
  /** Something happened: a transfer may have finished, a session begun or ended. */
  readonly onActivity?: () => void;
}

/** How a peer is tried. */
export interface ConnectOptions extends ConnectWait {
  /** Where the text names none; `session.port` where neither does. */
  readonly port?: number;
  /** False: a peer that refuses is an error at once, not one that may come yet. */
  readonly isPatient?: boolean;
}

/** Where to listen: what was asked for, then the settings. */
export function listenAddress(
  where: string | { readonly host?: string; readonly port?: number },
  values: SettingValues,
  acceptsNetwork: boolean,
): { readonly host: string; readonly port: number } {
  const asked = typeof where === 'string' ? parseEndpoint(where) : where;
  const base = values['session.port'];
  const everybody = acceptsNetwork ? '::' : '127.0.0.1';
  return {
    host: asked.host ?? (values['session.bind'] || everybody),
    port: asked.port ?? (base === 0 ? 0 : base + values['session.portIndex']),
  };
}

/** Whom to connect to, and for how long to try. */
export function connectOptions(
  where: string,
  given: number | ConnectOptions,
  more: ConnectOptions,
  values: SettingValues,
) {
  checkText('connect: the peer', where);
  const options = typeof given === 'number' ? { ...more, port: given } : given;
  const { host, port = options.port } = parseEndpoint(where);
  return {
    host,
    port: port ?? values['session.port'] + values['session.portIndex'],
    isPatient: options.isPatient ?? true,
    timeoutMs: options.timeoutMs,
    signal: options.signal,
  };
}
