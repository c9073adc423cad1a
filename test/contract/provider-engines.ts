// Harnesses of engines over loopback, both in this process, for every provider that an engine has.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleepMs } from '../../src/base/clock.js';
import { loadConfig } from '../../src/base/config.js';
import { silentLog } from '../../src/base/log.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine, tcpxOf } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/engine-options.js';
import type { Session } from '../../src/engine/session.js';
import { liveSession } from '../../src/engine/session-face.js';
import { breakSocket } from '../../src/ffi/libc/socket-accident.js';
import type { Region } from '../../src/memory/region.js';
import { MatchKind } from '../../src/wire/match-frame.js';
import { EnginePeer } from '../e2e/engine-peer.js';
import { controlFd } from '../support/connection-accident.js';
import type {
  ContractEnd,
  FarPeer,
  Grant,
  Link,
  Place,
  ProviderHarness,
  ProviderPair,
  Shape,
} from './provider-world.js';

type Settings = Partial<SettingValues>;

export interface EngineWorld
  extends Pick<ProviderHarness, 'name' | 'capability' | 'provider' | 'path' | 'onLostChannel'> {
  readonly settings: Settings;
  readonly slow: Settings;
  readonly slowBytes: number;
  readonly sizes?: readonly number[];
  /** Their threads have lanes of their own. */
  readonly isServed?: boolean;
  /** Of the plugin processes. */
  readonly plugin?: Readonly<Record<string, string>>;
  /** Memory of the kind that is moved; allocated by the engine without. */
  readonly place?: (engine: Engine, bytes: number, grant: Grant) => Place;
}

const MIB = 1024 * 1024;
const SIZES = [1, 23, 4096, 4097, 524_289, 4 * MIB + 5];
const TRANSFERS_MAX = 16;
const RELEASE_WAIT_MS = 5000;

const SMALL: Settings = {
  'memory.regionsMax': 64,
  'memory.transfersMax': 256,
  'memory.arenaBytes': 4 * MIB,
  // Threads of which a world has more where it is about them.
  'lane.count': 1,
  'session.connectTimeoutMs': 10_000,
  'session.handshakeTimeoutMs': 10_000,
};

export function engineHarness(world: EngineWorld): ProviderHarness {
  const stateDir = mkdtempSync(join(tmpdir(), 'tcpx-contract-'));
  const settingsOf = (shape: Shape): Settings => ({
    ...SMALL,
    'tcpx.stateDir': stateDir,
    ...world.settings,
    ...(shape === 'slow' ? world.slow : {}),
    ...(shape === 'few' ? { 'memory.transfersMax': TRANSFERS_MAX } : {}),
  });
  const engines: Engine[] = [];
  const openEngine = async (shape: Shape, options: EngineOptions): Promise<Engine> => {
    const config = loadConfig({ options: settingsOf(shape), environment: {} });
    const { isServed = false, plugin: pluginEnvironment = {} } = world;
    const parts = { config, log: silentLog, pluginEnvironment, isServed };
    const engine = await Engine.open({ ...options, ...parts });
    engines.push(engine);
    return engine;
  };
  return {
    ...world,
    sizes: world.sizes ?? SIZES,
    transfersMax: TRANSFERS_MAX,
    open: (shape) => EnginePair.open(world, (options) => openEngine(shape, options)),
    openFar: async (bytes) => {
      const engine = await openEngine('usual', { name: 'near' });
      return openFar(world, engine, settingsOf('usual'), bytes);
    },
    close: async () => {
      await Promise.all(engines.map((engine) => engine.close()));
      rmSync(stateDir, { recursive: true, force: true });
    },
  };
}

class EnginePair implements ProviderPair {
  readonly initiator: Engine;
  readonly target: Engine;
  readonly notifications: string[];
  readonly session: Session;
  readonly targetSession: Session;
  readonly #world: EngineWorld;
  readonly #dial: () => Promise<Link>;
  #planFrames = 0;

  private constructor(
    world: EngineWorld,
    ends: { readonly initiator: Engine; readonly target: Engine },
    link: Link,
    notifications: string[],
    dial: () => Promise<Link>,
  ) {
    this.#world = world;
    this.initiator = ends.initiator;
    this.target = ends.target;
    this.session = link.session;
    this.targetSession = link.targetSession;
    this.notifications = notifications;
    this.#dial = dial;
    this.#countPlans();
  }

  static async open(
    world: EngineWorld,
    openEngine: (options: EngineOptions) => Promise<Engine>,
  ): Promise<EnginePair> {
    const notifications: string[] = [];
    const arrived: Session[] = [];
    const target = await openEngine({
      name: 'target',
      onSession: (session) => arrived.push(session),
      onNotification: ({ bytes }) => notifications.push(Buffer.from(bytes).toString()),
    });
    const initiator = await openEngine({ name: 'initiator' });
    const port = target.listen({ host: '127.0.0.1', port: 0 });
    const dial = async (): Promise<Link> => {
      const session = await target.drive(initiator.connect('127.0.0.1', port));
      for (;;) {
        const targetSession = arrived.find((one) => idOf(one) === idOf(session));
        if (targetSession !== undefined) return { session, targetSession };
        await target.drive(initiator.drive(sleepMs(1)));
      }
    };
    return new EnginePair(world, { initiator, target }, await dial(), notifications, dial);
  }

  #countPlans(): void {
    const epochs = liveSession(this.session).matched?.epochs;
    if (epochs === undefined) return;
    const send = epochs.send.bind(epochs);
    epochs.send = (frame) => {
      if (new DataView(frame.buffer, frame.byteOffset).getUint16(0, true) === MatchKind.Plan) {
        this.#planFrames++;
      }
      send(frame);
    };
  }

  planFrames(): number {
    return this.#planFrames;
  }

  place(end: ContractEnd, bytes: number, grant: Grant = {}): Place {
    const engine = end === this.target ? this.target : this.initiator;
    return (this.#world.place ?? hostPlace)(engine, bytes, grant);
  }

  plain(end: ContractEnd, bytes: number): Place {
    const memory = new Uint8Array(bytes);
    return placeOver(end, memory, end.register(memory));
  }

  connect(): Promise<Link> {
    return this.#dial();
  }

  drive<T>(promise: Promise<T>): Promise<T> {
    return this.initiator.drive(this.target.drive(promise));
  }

  async pause(ms: number): Promise<void> {
    await this.drive(sleepMs(ms));
  }

  breakChannel(): void {
    const [pid] = tcpxOf(this.target)?.rails.pids() ?? [];
    const { matched, sockets } = liveSession(this.session);
    if (matched !== undefined) {
      if (pid === undefined || pid <= 1) throw new Error('the target has no plugin process');
      process.kill(pid, 'SIGKILL');
      return;
    }
    // Shared memory has no connection that could be lost; the control connection has.
    const socket = sockets.find((one) => one !== undefined);
    breakSocket(socket === undefined ? controlFd(this.session) : socket.fd);
  }

  async close(): Promise<void> {
    await this.drive(Promise.all([this.initiator.close(), this.target.close()]));
  }
}

/** Memory of the engine's own. */
function hostPlace(engine: Engine, bytes: number, grant: Grant): Place {
  const memory = new Uint8Array(engine.allocate(bytes).buffer);
  return placeOver(engine, memory, engine.register(memory, grant));
}

function placeOver(end: ContractEnd, memory: Uint8Array, region: Region): Place {
  return {
    end,
    region,
    bytes: memory.length,
    fill: (seed) => fillPattern(memory, seed, 0),
    mismatches: (seed) => verifyPattern(memory, seed, 0).count,
    release: () => end.deregister(region, RELEASE_WAIT_MS),
  };
}

async function openFar(
  world: EngineWorld,
  engine: Engine,
  settings: Settings,
  bytes: number,
): Promise<FarPeer> {
  const { plugin = {} } = world;
  const peer = new EnginePeer('target', { settings, host: '127.0.0.1', bytes, plugin });
  try {
    const { port, descriptor } = await peer.fact('port');
    if (port === undefined || descriptor === undefined) throw new Error('the peer has no port');
    const session = await engine.connect('127.0.0.1', port);
    return {
      session,
      descriptor,
      place: (size) => (world.place ?? hostPlace)(engine, size, {}),
      close: async () => {
        await engine.close();
        await peer.end();
      },
    };
  } catch (error) {
    peer.kill();
    throw error;
  }
}

function idOf(session: Session): number {
  return liveSession(session).facts.id;
}
