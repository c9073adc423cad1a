// Two engines of one process that know each other, with whatever settings a test asks for.

import { loadConfig } from '../../src/base/config.js';
import { createLog, type Log } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/engine-options.js';
import type { LiveSession } from '../../src/engine/live-session.js';
import type { PeerNotification } from '../../src/engine/notification.js';
import { liveSession } from '../../src/engine/session-face.js';

export type Settings = Partial<SettingValues>;

const SMALL: Settings = {
  'memory.regionsMax': 64,
  'memory.transfersMax': 256,
  'memory.arenaBytes': 4 * 1024 * 1024,
  'session.handshakeTimeoutMs': 2000,
  'session.connectTimeoutMs': 2000,
  // Tiny windows on a machine with other things to do are slow, and nobody's fault.
  'session.minRateBytes': 4096,
  // Threads that most tests do not need, and as many on every host.
  'lane.count': 1,
  // Sockets that can be cut, counted and looked at; tests of shared memory ask for it.
  'session.local': 'tcp',
};

/** Log lines of an engine, kept instead of printed. */
export class KeptLog {
  readonly #lines: string[] = [];
  readonly log: Log = createLog({
    level: 'debug',
    format: 'text',
    write: (line) => this.#lines.push(line),
  });

  /** No own property: such an object is an engine's options too, which have no lines. */
  get lines(): string[] {
    return this.#lines;
  }

  has(pattern: RegExp): boolean {
    return this.lines.some((line) => pattern.test(line));
  }
}

const opened: Engine[] = [];

/** For after hooks: an engine that a failed test left open would keep the process. */
export async function closeEngines(): Promise<void> {
  await Promise.all(opened.splice(0).map((engine) => engine.close()));
}

/** An engine of modest size that reads no environment. */
export async function openEngine(
  settings: Settings = {},
  options: Omit<EngineOptions, 'settings' | 'config'> = {},
): Promise<Engine> {
  const config = loadConfig({ options: { ...SMALL, ...settings }, environment: {} });
  const engine = await Engine.open({ log: new KeptLog().log, ...options, config });
  opened.push(engine);
  return engine;
}

export interface EnginePair {
  readonly server: Engine;
  readonly client: Engine;
  /** The client's session, and the server's end of it. */
  readonly session: LiveSession;
  readonly serverSession: LiveSession;
  /** What the server was told. */
  readonly notifications: PeerNotification[];
  readonly serverLog: KeptLog;
  /** Awaits with both engines moving, whatever mode they are in. */
  drive<T>(promise: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export async function openPair(
  serverSettings: Settings = {},
  clientSettings: Settings = serverSettings,
  where: { readonly listen?: string; readonly connect?: string } = {},
  /** Both engines have simulated GPUs, or none. */
  gpus: Pick<EngineOptions, 'gpuModule'> = {},
): Promise<EnginePair> {
  const notifications: PeerNotification[] = [];
  const serverLog = new KeptLog();
  let arrived: (session: LiveSession) => void = () => undefined;
  const serverSide = new Promise<LiveSession>((resolve) => (arrived = resolve));
  const server = await openEngine(serverSettings, {
    name: 'server',
    log: serverLog.log,
    onSession: (session) => arrived(liveSession(session)),
    onNotification: (notification) => notifications.push(notification),
    ...gpus,
  });
  const client = await openEngine(clientSettings, { name: 'client', ...gpus });
  const drive = <T>(promise: Promise<T>): Promise<T> => client.drive(server.drive(promise));
  try {
    const listen = where.listen ?? '127.0.0.1';
    const port = server.listen({ host: listen, port: 0 });
    const session = liveSession(await drive(client.connect(where.connect ?? listen, port)));
    const serverSession = await drive(serverSide);
    const close = async (): Promise<void> => {
      await drive(Promise.all([client.close(), server.close()]));
    };
    return { server, client, session, serverSession, notifications, serverLog, drive, close };
  } catch (error) {
    await Promise.all([client.close(), server.close()]);
    throw error;
  }
}
