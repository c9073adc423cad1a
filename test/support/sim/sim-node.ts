// One machine: everything of an engine above its sockets, on virtual ports, clock and control
// connections. The simulation steps each lane and the main thread on its own.

import { type Config, loadConfig } from '../../../src/base/config.js';
import type { Log } from '../../../src/base/log.js';
import type { Random } from '../../../src/base/random.js';
import { Timers } from '../../../src/base/timers.js';
import { EngineCore } from '../../../src/engine/engine-core.js';
import type { Identity } from '../../../src/engine/identity.js';
import { laneChoice } from '../../../src/engine/lane-choice.js';
import type { LiveSession as Session } from '../../../src/engine/live-session.js';
import type { PeerNotification } from '../../../src/engine/notification.js';
import { connectPeer } from '../../../src/engine/peer-client.js';
import { PeerServer } from '../../../src/engine/peer-server.js';
import type { MatchHandler } from '../../../src/provider/tcpx/match-connection.js';
import { MatchStream } from '../../../src/provider/tcpx/match-stream.js';
import { KeptMemory } from './kept-memory.js';
import type { ControlRules, SimControl } from './sim-control.js';
import type { SimFabric } from './sim-fabric.js';
import { CELL_BYTES } from './sim-memory.js';
import { SimMatchSocket } from './sim-match-socket.js';
import type { SimNetwork } from './sim-network.js';
import { NodeNetwork } from './sim-peer-network.js';
import type { SimPlan } from './sim-plan.js';
import { SimPlugin } from './sim-plugin.js';
import { NodeClock, type SimTime } from './sim-time.js';

export interface NodeOptions {
  readonly name: string;
  readonly lanes: number;
  readonly time: SimTime;
  readonly network: SimNetwork;
  readonly log: Log;
  readonly random: Random;
  /** What a lane takes at a time from all its peers. */
  readonly receiveBytes: number;
  readonly limits: SimPlan['limits'];
  readonly identity: Identity;
  readonly rules: ControlRules;
  readonly chunkBytes: number;
  /** Where machines have a plugin. */
  readonly fabric: SimFabric | undefined;
  readonly plugin: SimPlan['plugin'];
  /** Sessions that it has room for, where that is more than a few. */
  readonly peers?: number;
  onNotification(notification: PeerNotification): void;
  /** A session was made at this end. */
  readonly onSession: (session: Session) => void;
  /** Something that was awaited has come. */
  readonly onWake: () => void;
}

/** Chunks that a peer may ask for are so much larger than those of a run, whose memory is small. */
export const CHUNK_SCALE = 16;
const CONNECT_MS = 5000;
const DEFAULTS = loadConfig({
  options: {
    'session.connectTimeoutMs': CONNECT_MS,
    'lane.progress': 'caller',
    'lane.spinUs': 0,
    'socket.sendBy': 'copy',
    'memory.regionsMax': 16,
    'memory.transfersMax': 24,
    'memory.arenaBytes': 1024 * 1024,
    'session.peersMax': 6,
  },
  environment: {},
});

export const PLUGIN_LIMITS = { 'tcpx.hangMs': 500, 'tcpx.setupTimeoutMs': 3000 } as const;

// Smaller than the settings allow: a run has little memory.
function configOf(options: NodeOptions): Config {
  const { lanes, limits, receiveBytes, plugin, chunkBytes, peers } = options;
  const values = {
    ...DEFAULTS.values,
    'lane.count': lanes,
    'session.stallMs': limits.stallMs,
    'session.reconnectMs': limits.reconnectMs,
    'session.controlTimeoutMs': limits.controlTimeoutMs,
    'session.progressMs': limits.progressMs,
    'session.minRateBytes': limits.minRate,
    'flow.receiveBytes': receiveBytes,
    ...(peers === undefined ? {} : roomFor(peers)),
    ...(plugin === undefined
      ? {}
      : ({
          'engine.provider': plugin.isFirm ? 'tcpx' : 'auto',
          'flow.chunkBytes': chunkBytes,
          'flow.channels': plugin.channels,
          'tcpx.gatherBytes': plugin.gatherBytes,
          'tcpx.pacing': plugin.isPaced ? 'ready' : 'none',
          'tcpx.deadlineMs': plugin.deadlineMs,
          ...PLUGIN_LIMITS,
        } as const)),
  };
  return { values, effective: DEFAULTS.effective };
}

/** One transfer of each session at a time. */
function roomFor(peers: number) {
  return {
    'session.peersMax': peers + 1,
    'memory.transfersMax': peers + 1,
    'memory.arenaBytes': Math.max(1024 * 1024, peers * 1024),
    'memory.readsBytes': 8 * 1024 ** 3,
  } as const;
}

export class SimNode {
  readonly name: string;
  readonly clock: NodeClock;
  readonly timers = new Timers();
  readonly core: EngineCore;
  readonly plugin: SimPlugin | undefined;
  readonly matchSockets = new Set<SimMatchSocket>();
  /** Whoever hears the frames of a match connection; for mutations. */
  onMatch: (handler: MatchHandler) => MatchHandler = (handler) => handler;
  readonly controls = new Set<SimControl>();
  /** What the main thread has to look at when it runs. */
  readonly inbox: (() => void)[] = [];
  readonly identity: Identity;
  readonly peers: NodeNetwork;
  readonly #options: NodeOptions;
  readonly #config: Config;
  isAlive = true;
  /** How long parts of it did not run, all in all. */
  pausedMs = 0;
  /** Nothing of it runs before these times. */
  mainPausedUs = 0;
  readonly lanePausedUs: number[];
  /** Called with every event before the engine handles it; for mutations. */
  onLaneEvent: ((kind: number, at: number) => void) | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.identity = options.identity;
    this.clock = new NodeClock(options.time);
    this.clock.aheadUs = options.random.nextBetween(0, 1e9);
    this.lanePausedUs = Array.from({ length: options.lanes }, () => 0);
    this.#config = configOf(options);
    this.plugin = this.#createPlugin();
    this.core = this.#createCore();
    this.peers = new NodeNetwork({ ...options, node: this });
  }

  get lanes() {
    return this.core.lanes;
  }

  get sessions() {
    return this.core.sessions;
  }

  get transfers() {
    return this.core.transfers;
  }

  // Whoever changes these on purpose has done so when the first peer comes.
  listen(): PeerServer {
    return new PeerServer({
      network: this.peers,
      address: { host: '', port: 1 },
      identity: this.identity,
      sessions: this.sessions,
      log: this.#options.log,
      handshakesMax: DEFAULTS.values['session.handshakesMax'],
      openMatch: this.#openMatch(),
      onSession: () => undefined,
    });
  }

  connect(host: string): Promise<Session> {
    return connectPeer({
      network: this.peers,
      host,
      port: 1,
      identity: this.identity,
      sessions: this.sessions,
      config: this.#config,
      log: this.#options.log,
      isPatient: true,
      openMatch: this.#openMatch(),
    });
  }

  #after(delayMs: number, act: () => void): () => void {
    return this.timers.at(this.clock.nowUs() + delayMs * 1000, () => {
      this.#options.onWake();
      act();
    });
  }

  #createPlugin(): SimPlugin | undefined {
    const { fabric, log, onWake, name, network } = this.#options;
    if (fabric === undefined) return undefined;
    const nics = Array.from({ length: network.rules.paths }, (_, path) => `nic${path}`);
    return new SimPlugin({
      ...{ machine: name, nics, fabric, log, onWake, values: this.#config.values },
      nowUs: () => this.clock.nowUs(),
      after: (delayMs, act) => this.#after(delayMs, act),
      post: (act) => this.inbox.push(act),
    });
  }

  #openMatch() {
    if (this.plugin === undefined) return undefined;
    const { network, time, onWake, limits } = this.#options;
    return (fd: number, handler: MatchHandler): MatchStream =>
      new MatchStream(
        (events) => {
          const socket = new SimMatchSocket(
            network.port(fd),
            {
              ...{ time, silentMs: limits.controlTimeoutMs, onWake },
              after: (delayMs, act) => this.#after(delayMs, act),
              onClosed: (closed) => this.matchSockets.delete(closed),
            },
            events,
          );
          this.matchSockets.add(socket);
          return socket;
        },
        this.onMatch(handler),
        DEFAULTS.values['tcpx.outboxBytes'],
      );
  }

  #createCore(): EngineCore {
    const { network, log } = this.#options;
    const { shape } = laneChoice(this.#config, false);
    const core = new EngineCore({
      config: this.#config,
      log,
      timers: this.timers,
      trustName: 'simulated',
      tcpx: this.plugin,
      controlFd: -1,
      staging: { stagingBytes: 0, gpuModule: '', openProvider: () => undefined },
      edges: {
        clock: this.clock,
        after: (delayMs, act) => this.#after(delayMs, act),
        closeConnection: (fd) => network.port(fd).close(false),
        laneBytes: 1,
        largeBytes: CELL_BYTES / 2,
        lanes: {
          memory: new KeptMemory(shape),
          inline: { openPort: (fd) => network.port(fd), clock: this.clock, healthSteps: 1 },
        },
      },
      openDevice: () => undefined,
      pollControl: () => this.pollControl(),
      poll: () => undefined,
      drive: (promise) => promise,
      onWake: () => undefined,
      onLaneFailed: (_, error) => {
        throw error;
      },
      onNotification: (notification) => this.#options.onNotification(notification),
      onActivity: () => undefined,
    });
    this.#watch(core);
    return core;
  }

  // Chunks are scaled, and whoever wants to know is told.
  #watch({ sessions, events }: EngineCore): void {
    const create = sessions.create.bind(sessions);
    sessions.create = (made) => {
      const { chunkBytes } = made.agreement;
      const agreement = { ...made.agreement, chunkBytes: chunkBytes / CHUNK_SCALE };
      const session = create({ ...made, agreement });
      this.#options.onSession(session);
      return session;
    };
    const handle = events.handle.bind(events);
    events.handle = (kind, at) => {
      this.onLaneEvent?.(kind, at);
      handle(kind, at);
    };
  }

  pollControl(): number {
    let count = 0;
    for (const control of [...this.controls]) {
      count += control.poll();
      if (!control.isOpen) this.controls.delete(control);
    }
    return count;
  }

  /** Of its pauses what is over at this time. */
  pausedMsBefore(nowUs: number): number {
    const endUs = Math.max(nowUs, this.mainPausedUs, ...this.lanePausedUs);
    return this.pausedMs - (endUs - nowUs) / 1000;
  }

  isLaneRunning(lane: number, nowUs: number): boolean {
    return this.isAlive && (this.lanePausedUs[lane] ?? 0) <= nowUs;
  }

  isMainRunning(nowUs: number): boolean {
    return this.isAlive && this.mainPausedUs <= nowUs;
  }

  /** As the engine does when it wakes up. */
  stepMain(): number {
    this.timers.run(this.clock.nowUs());
    let count = this.pollControl();
    for (const socket of [...this.matchSockets]) count += socket.watch();
    for (let act = this.inbox.shift(); act !== undefined; act = this.inbox.shift()) {
      act();
      count++;
    }
    count += this.lanes.takeEvents();
    count += this.plugin?.drain() ?? 0;
    this.core.events.deliver();
    return count;
  }

  async destroy(): Promise<void> {
    this.isAlive = false;
    this.plugin?.destroy();
    await this.lanes.close();
  }
}
