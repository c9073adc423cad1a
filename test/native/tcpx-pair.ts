// Two engines of one process over the tcpx provider, with emulated plugins in processes of their
// own, connected over loopback: the target listens, the initiator connects.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/base/config.js';
import { createLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine, tcpxOf } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/engine-options.js';
import type { Session } from '../../src/engine/session.js';
import { liveSession } from '../../src/engine/session-face.js';
import type { Region } from '../../src/memory/region.js';
import type { Epochs } from '../../src/provider/tcpx/epochs.js';
import type { RailSet } from '../../src/provider/tcpx/rail-set.js';
import {
  emulatorPath,
  emulatorVariables,
  requireNative,
  type Variables,
} from './plugin-environment.js';

export type Settings = Partial<SettingValues>;

export interface SideOptions {
  readonly settings?: Settings;
  readonly plugin?: Variables;
  readonly host?: EngineOptions['pluginOverrides'];
}

const SMALL: Settings = {
  'engine.provider': 'tcpx',
  'plugin.path': emulatorPath,
  'session.nics': 'eth1',
  'tcpx.steeringWaitUs': 1000,
  'tcpx.sockets': 1,
  'tcpx.setupTimeoutMs': 10_000,
  'memory.regionsMax': 64,
  'memory.transfersMax': 256,
  'memory.arenaBytes': 4 * 1024 * 1024,
  'lane.count': 1,
  'session.connectTimeoutMs': 5000,
};

const opened: Engine[] = [];
const folders: string[] = [];
export const logLines: string[] = [];

/** For after hooks: what a failed test left open would keep the process. */
export async function closeProviders(): Promise<void> {
  await Promise.all(opened.splice(0).map((engine) => engine.close()));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-test-'));
  folders.push(folder);
  return folder;
}

export async function openProvider(
  name: string,
  side: SideOptions = {},
  handlers: Pick<EngineOptions, 'onSession' | 'onNotification'> = {},
): Promise<Engine> {
  requireNative();
  const stateDir = temporaryFolder();
  const options = { ...SMALL, 'tcpx.stateDir': stateDir, ...side.settings };
  const engine = await Engine.open({
    name,
    config: loadConfig({ options, environment: {} }),
    log: createLog({ level: 'info', format: 'text', write: (line) => logLines.push(line) }),
    pluginEnvironment: { ...emulatorVariables, ...side.plugin },
    pluginOverrides: side.host ?? {},
    ...handlers,
  });
  opened.push(engine);
  return engine;
}

export interface TcpxPair {
  readonly initiator: Engine;
  readonly target: Engine;
  readonly session: Session;
  readonly targetSession: Session;
  /** What the target was told. */
  readonly notifications: string[];
  close(): Promise<void>;
}

export async function openPair(
  both: SideOptions = {},
  sides: { readonly initiator?: SideOptions; readonly target?: SideOptions } = {},
): Promise<TcpxPair> {
  const notifications: string[] = [];
  let targetSession: Session | undefined;
  const merge = (side: SideOptions = {}): SideOptions => ({
    settings: { ...both.settings, ...side.settings },
    plugin: { ...both.plugin, ...side.plugin },
    host: { ...both.host, ...side.host },
  });
  const [target, initiator] = await Promise.all([
    openProvider('target', merge(sides.target), {
      onSession: (session) => (targetSession = session),
      onNotification: ({ bytes }) => notifications.push(Buffer.from(bytes).toString()),
    }),
    openProvider('initiator', merge(sides.initiator)),
  ]);
  const port = target.listen({ host: '127.0.0.1', port: 0 });
  const session = await initiator.connect('127.0.0.1', port);
  if (targetSession === undefined) throw new Error('the target has no session');
  const close = async (): Promise<void> => {
    await initiator.close();
    await target.close();
  };
  return { initiator, target, session, targetSession, notifications, close };
}

/** The plugin's processes of an engine. */
export function railsOf(engine: Engine): RailSet {
  const tcpx = tcpxOf(engine);
  if (tcpx === undefined) throw new Error('the plugin is not open');
  return tcpx.rails;
}

/** The plugin's channels of a session. */
export function epochsOf(session: Session): Epochs {
  const { matched } = liveSession(session);
  if (matched === undefined) throw new Error('the session is not of the tcpx provider');
  return matched.epochs;
}

export interface Memory {
  readonly bytes: Uint8Array;
  readonly region: Region;
}

export function makeMemory(engine: Engine, bytes: number): Memory {
  const memory = new Uint8Array(engine.allocate(bytes).buffer);
  return { bytes: memory, region: engine.register(memory) };
}

/** The whole of two memories of one length, as one block. */
export function wholeBlock(local: Memory, remote: Memory) {
  const bytes = local.bytes.length;
  const descriptor = remote.region.descriptor;
  return [{ local: local.region, localOffset: 0, remote: descriptor, remoteOffset: 0, bytes }];
}
