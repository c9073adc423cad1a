// The parts of an engine and how they know each other: lanes below, then regions and transfers,
// then sessions; events go up, calls go down.

import { assert } from '../base/assert.js';
import { type Clock, systemClock } from '../base/clock.js';
import type { Config } from '../base/config.js';
import type { Log } from '../base/log.js';
import type { Timers } from '../base/timers.js';
import { Arena } from '../memory/arena.js';
import { RegionRegistry } from '../memory/region.js';
import { type RegionTable, regionTableOver } from '../memory/region-table.js';
import { LaneCarrier } from '../provider/tcp/lane-carrier.js';
import { LaneSet, type LaneSetOptions, type OwnLaneChoice } from '../provider/tcp/lane-set.js';
import { SIGNAL_ENTRIES, TransferTable } from '../provider/tcp/transfer-table.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { MatchedProvider } from '../provider/tcpx/matched-provider.js';
import { EngineHold } from './engine-hold.js';
import { laneChoice } from './lane-choice.js';
import { LaneEvents } from './lane-events.js';
import type { LiveSession } from './live-session.js';
import { matchedHost } from './matched-host.js';
import type { PeerNotification } from './notification.js';
import { RegionNames } from './region-names.js';
import type { ConnectMatch } from './session-surroundings.js';
import { SessionTable } from './session-table.js';
import { listNics } from './socket-network.js';
import { Transfers } from './transfers.js';
import { choiceMaker, isNearPacedHere, nearLanesHere } from './tuned-config.js';

/** What an engine reaches the system by; a simulation has its own. */
export interface CoreEdges {
  readonly clock: Clock;
  /** Calls after this time; returns what takes it back. */
  after(delayMs: number, act: () => void): () => void;
  closeConnection(fd: number): void;
  /** Small, so that small transfers meet on several lanes. */
  readonly laneBytes: number;
  readonly largeBytes: number;
  /** Lanes without threads that somebody else steps, and where their memory comes from. */
  readonly lanes: Required<Pick<LaneSetOptions, 'inline' | 'memory'>>;
}

export interface CoreOptions {
  readonly config: Config;
  readonly log: Log;
  readonly timers: Timers;
  readonly trustName: string;
  readonly tcpx: MatchedProvider | undefined;
  readonly controlFd: number;
  /** One of a node service: threads of lanes start when they have something to do. */
  readonly isServed?: boolean | undefined;
  /** Where the thread that opens the engine has a lane of its own. */
  readonly ownLane?: OwnLaneChoice | undefined;
  readonly staging: LaneSetOptions['staging'];
  readonly edges?: CoreEdges;
  /** Makes the lanes know a GPU. */
  openDevice(device: number): void;
  pollControl(): void;
  poll(): void;
  drive<T>(promise: Promise<T>): Promise<T>;
  onWake(): void;
  onLaneFailed(laneIndex: number, error: Error): void;
  onNotification(notification: PeerNotification): void;
  onActivity(): void;
}

export class EngineCore {
  readonly lanes: LaneSet;
  readonly arena: Arena;
  readonly regions: RegionRegistry;
  readonly names = new RegionNames();
  readonly transfers: Transfers;
  readonly sessions: SessionTable;
  readonly events: LaneEvents;
  readonly hold: EngineHold;
  readonly #options: CoreOptions;
  readonly #regionTable: RegionTable;
  readonly #table: TransferTable;
  #isClosed = false;

  constructor(options: CoreOptions) {
    this.#options = options;
    const { config, controlFd, ownLane, staging, edges } = options;
    const { values } = config;
    this.lanes = new LaneSet({
      ...laneChoice(config, ownLane !== undefined),
      // Bound cores are those of the plugin's threads, where there is a plugin.
      ...(options.tcpx === undefined ? {} : { cpus: [], nodes: [] }),
      controlFd,
      own: ownLane,
      startsLate: options.isServed,
      staging,
      ...edges?.lanes,
      onEvent: (_, kind, at) => this.events.handle(kind, at),
      onWake: () => options.onWake(),
      onLaneFailed: (laneIndex, error) => options.onLaneFailed(laneIndex, error),
    });
    this.hold = new EngineHold((isHeld) => {
      this.lanes.hold(isHeld);
      options.tcpx?.hold(isHeld);
    });
    const { shared, offsets } = this.lanes;
    const { regionsAt, transfersAt } = offsets;
    const regionCount = values['memory.regionsMax'];
    this.#regionTable = regionTableOver(shared, regionsAt, regionCount, edges?.clock);
    this.regions = new RegionRegistry(this.#regionTable);
    const entries = values['memory.transfersMax'] + SIGNAL_ENTRIES;
    this.#table = new TransferTable(shared, transfersAt, entries);
    this.arena = new Arena(values['memory.arenaBytes']);
    this.transfers = this.#createTransfers();
    this.sessions = this.#createSessions();
    this.events = new LaneEvents({
      lanes: this.lanes,
      sessions: this.sessions,
      transfers: this.transfers,
      log: options.log,
      onNotification: (notification) => options.onNotification(notification),
      pollControl: () => options.pollControl(),
    });
  }

  /** Ends the lanes and frees their memory; what is left of transfers fails before. */
  async close(): Promise<void> {
    await this.lanes.close(() => {
      this.transfers.abandonAll();
      this.#isClosed = true;
    });
  }

  #createTransfers(): Transfers {
    const { config, tcpx, trustName, edges } = this.#options;
    const { values } = config;
    const isCallerDriven = values['lane.progress'] === 'caller' && edges === undefined;
    return new Transfers({
      lanes: this.lanes,
      carrier: new LaneCarrier({
        lanes: this.lanes,
        arena: this.arena,
        table: this.#table,
        isCallerDriven,
        clock: edges?.clock ?? systemClock,
        laneBytes: edges?.laneBytes,
        nearLanes: edges === undefined ? nearLanesHere(config) : values['lane.count'],
        isNearPaced: edges === undefined && isNearPacedHere(config),
        largeBytes: edges?.largeBytes,
        isWayOpen: values['socket.sendBy'] === 'auto',
        openDevice: (device) => this.#options.openDevice(device),
      }),
      table: this.#table,
      regions: this.regions,
      trustName,
      isCallerDriven,
      spinUs: values['lane.spinUs'],
      timers: this.#options.timers,
      limits: limitsOf(config),
      lose: (session, error) => this.sessions.close(session, error),
      ...(edges && { clock: edges.clock, after: (delayMs, act) => edges.after(delayMs, act) }),
      poll: () => this.#options.poll(),
      onAwaited: (isAwaited) => this.hold.setAwaited(isAwaited),
      waitMatched: (timeoutMs) => tcpx?.wait(timeoutMs),
    });
  }

  #createSessions(): SessionTable {
    const { config, log, timers, edges } = this.#options;
    const { values } = config;
    return new SessionTable({
      lanes: this.lanes,
      transfers: this.transfers,
      openMatched: (session, connect, sessions) => this.#match(session, connect, sessions),
      answerLookup: (lookup) => this.names.answer(lookup),
      drive: (promise) => this.#options.drive(promise),
      hold: (session, isHeld) => this.hold.setSession(session, isHeld),
      ...(edges === undefined && { choicesOf: choiceMaker(config) }),
      sessionsMax: values['session.peersMax'],
      readsBytesMax: values['memory.readsBytes'],
      sharedBytesMax: values['memory.sharedBytes'],
      nicCount: listNics(config).length,
      log,
      timers,
      limits: limitsOf(config),
      ...(edges && { clock: edges.clock, closeConnection: (fd) => edges.closeConnection(fd) }),
    });
  }

  #match(
    session: LiveSession,
    connect: ConnectMatch | undefined,
    sessions: SessionTable,
  ): MatchedCarrier<LiveSession> {
    const { tcpx } = this.#options;
    assert(tcpx !== undefined, 'tcpx is offered where it is open');
    const parts = {
      tcpx,
      table: this.#table,
      regionTable: this.#regionTable,
      sessions,
      transfers: this.transfers,
      after: (delayMs: number, act: () => void) => this.transfers.after(delayMs, act),
      isOpen: () => !this.#isClosed,
      onNotification: (one: PeerNotification) => this.events.accept(one),
      onActivity: () => this.#options.onActivity(),
    };
    return tcpx.carrier(session.peer, matchedHost(parts, session, connect));
  }
}

/** How long peers may take, by the settings. */
export function limitsOf({ values }: Config) {
  return {
    stallMs: values['session.stallMs'],
    fencesMax: values['session.fencesMax'],
    reconnectMs: values['session.reconnectMs'],
    controlTimeoutMs: values['session.controlTimeoutMs'],
    progressMs: values['session.progressMs'],
    minRate: values['session.minRateBytes'],
  };
}
