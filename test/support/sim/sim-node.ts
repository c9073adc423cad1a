// One machine: everything of an engine above its sockets, on virtual ports, clock and control
// connections. The simulation steps each lane and the main thread on its own.

import { loadConfig } from '../../../src/base/config.js';
import type { Log } from '../../../src/base/log.js';
import type { Random } from '../../../src/base/random.js';
import { Timers } from '../../../src/base/timers.js';
import { LaneEvents } from '../../../src/engine/lane-events.js';
import { LaneSet } from '../../../src/provider/tcp/lane-set.js';
import type { Notification } from '../../../src/engine/notification.js';
import type { Identity } from '../../../src/engine/identity.js';
import { connectPeer } from '../../../src/engine/peer-client.js';
import { PeerServer } from '../../../src/engine/peer-server.js';
import type { Session } from '../../../src/engine/session.js';
import { SessionTable } from '../../../src/engine/session-table.js';
import { LaneCarrier } from '../../../src/provider/tcp/lane-carrier.js';
import { SIGNAL_ENTRIES, TransferTable } from '../../../src/provider/tcp/transfer-table.js';
import { Transfers } from '../../../src/engine/transfers.js';
import { Arena } from '../../../src/memory/arena.js';
import { RegionRegistry } from '../../../src/memory/region.js';
import { regionTableOver } from '../../../src/memory/region-table.js';
import type { ControlRules, SimControl } from './sim-control.js';
import type { SimNetwork } from './sim-network.js';
import { KeptMemory } from './kept-memory.js';
import { NodeNetwork } from './sim-peer-network.js';
import type { SimPlan } from './sim-plan.js';
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
  onNotification(notification: Notification): void;
  /** A session was made at this end. */
  readonly onSession: (session: Session) => void;
  /** Something that was awaited has come. */
  readonly onWake: () => void;
}

/** Chunks that a peer may ask for are so much larger than those of a run, whose memory is small. */
export const CHUNK_SCALE = 16;
const CONNECT_MS = 5000;
const config = loadConfig({
  options: { 'session.connectTimeoutMs': CONNECT_MS },
  environment: {},
});

const REGIONS = 16;
const TRANSFERS_MAX = 24;
const ARENA_BYTES = 1024 * 1024;
const SESSIONS_MAX = 6;

export class SimNode {
  readonly name: string;
  readonly clock: NodeClock;
  readonly timers = new Timers();
  readonly lanes: LaneSet;
  readonly arena = new Arena(ARENA_BYTES);
  readonly regions: RegionRegistry;
  readonly sessions: SessionTable;
  readonly transfers: Transfers;
  readonly events: LaneEvents;
  readonly controls = new Set<SimControl>();
  /** What the main thread has to look at when it runs. */
  readonly inbox: (() => void)[] = [];
  readonly identity: Identity;
  readonly peers: NodeNetwork;
  readonly #options: NodeOptions;
  isAlive = true;
  /** Nothing of it runs before these times. */
  mainPausedUs = 0;
  readonly lanePausedUs: number[];
  /** Called with every event before the engine handles it; for mutations. */
  onLaneEvent: ((lane: number, kind: number, at: number) => void) | undefined;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = options.name;
    this.identity = options.identity;
    this.clock = new NodeClock(options.time);
    this.clock.aheadUs = options.random.nextBetween(0, 1e9);
    this.lanePausedUs = Array.from({ length: options.lanes }, () => 0);
    this.lanes = this.#createLanes();
    const { shared, offsets } = this.lanes;
    this.regions = new RegionRegistry(regionTableOver(shared, offsets.regionsAt, REGIONS));
    this.peers = new NodeNetwork({ ...options, node: this });
    this.sessions = this.#createSessions();
    this.transfers = this.#createTransfers();
    this.sessions.host = {
      prepare: (session, operation, blocks) => this.transfers.prepare(session, operation, blocks),
      postNotification: (session, message) => this.transfers.postNotification(session, message),
      closeSession: (session, error) => this.sessions.close(session, error),
      drive: (promise) => promise,
    };
    this.sessions.transfers = this.transfers;
    this.events = new LaneEvents({
      lanes: this.lanes,
      sessions: this.sessions,
      transfers: this.transfers,
      log: options.log,
      onNotification: (notification) => options.onNotification(notification),
      pollControl: () => this.pollControl(),
    });
  }

  // Whoever changes these on purpose has done so when the first peer comes.
  listen(): PeerServer {
    return new PeerServer({
      network: this.peers,
      address: { host: '', port: 1 },
      identity: this.identity,
      sessions: this.sessions,
      log: this.#options.log,
      openMatch: undefined,
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
      config,
      log: this.#options.log,
      isPatient: true,
      openMatch: undefined,
    });
  }

  #createLanes(): LaneSet {
    const { network, limits, lanes, receiveBytes } = this.#options;
    const shape = {
      regionCount: REGIONS,
      transferCount: TRANSFERS_MAX + SIGNAL_ENTRIES,
      laneCount: lanes,
      arenaBytes: ARENA_BYTES,
    };
    return new LaneSet({
      shape,
      sessionCount: SESSIONS_MAX,
      progress: 'caller',
      spinUs: 0,
      cpus: [],
      controlFd: -1,
      sendBy: 'copy',
      stallUs: limits.stallMs * 1000,
      receiveBytes,
      staging: { stagingBytes: 0, gpuModule: '', openProvider: () => undefined },
      memory: new KeptMemory(shape),
      inline: { openPort: (fd) => network.port(fd), clock: this.clock, healthSteps: 1 },
      onEvent: (lane, kind, at) => {
        this.onLaneEvent?.(lane, kind, at);
        this.events.handle(kind, at);
      },
      onWake: () => undefined,
      onLaneFailed: (_, error) => {
        throw error;
      },
    });
  }

  #createSessions(): SessionTable {
    const { log, limits, network, onSession } = this.#options;
    const sessions = new SessionTable({
      lanes: this.lanes,
      sessionsMax: SESSIONS_MAX,
      nicCount: 0,
      log,
      timers: this.timers,
      limits,
      clock: this.clock,
      closeConnection: (fd) => network.port(fd).close(false),
    });
    const create = sessions.create.bind(sessions);
    sessions.create = (made) => {
      const { chunkBytes } = made.agreement;
      const agreement = { ...made.agreement, chunkBytes: chunkBytes / CHUNK_SCALE };
      const session = create({ ...made, agreement });
      onSession(session);
      return session;
    };
    return sessions;
  }

  #createTransfers(): Transfers {
    const { shared, offsets } = this.lanes;
    const entries = TRANSFERS_MAX + SIGNAL_ENTRIES;
    const table = new TransferTable(shared, offsets.transfersAt, entries);
    return new Transfers({
      lanes: this.lanes,
      carrier: new LaneCarrier({
        lanes: this.lanes,
        arena: this.arena,
        table,
        isCallerDriven: false,
        openDevice: () => undefined,
      }),
      table,
      regions: this.regions,
      trustName: 'simulated',
      isCallerDriven: false,
      spinUs: 0,
      clock: this.clock,
      after: (delayMs, act) => this.timers.at(this.clock.nowUs() + delayMs * 1000, act),
      poll: () => undefined,
    });
  }

  pollControl(): number {
    let count = 0;
    for (const control of [...this.controls]) {
      count += control.poll();
      if (!control.isOpen) this.controls.delete(control);
    }
    return count;
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
    for (let act = this.inbox.shift(); act !== undefined; act = this.inbox.shift()) {
      act();
      count++;
    }
    count += this.lanes.takeEvents();
    this.events.deliver();
    return count;
  }

  async destroy(): Promise<void> {
    this.isAlive = false;
    await this.lanes.close();
  }
}
