// What an engine is opened with, and how it connects.

import type { Config } from '../base/config.js';
import type { Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import type { TcpxProviderOptions } from '../provider/tcpx/tcpx-provider.js';
import type { Notification } from './notification.js';
import type { Session } from './session.js';

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
  readonly onNotification?: (notification: Notification) => void;
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

export interface ConnectChoice {
  /** False: a peer that refuses is an error at once, not one that may come yet. */
  readonly isPatient?: boolean;
}
