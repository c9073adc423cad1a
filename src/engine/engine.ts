// The engine: regions, sessions, transfers and the lanes that move them. Everything here runs on
// the thread that opened it.

import { randomBytes } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { sleepMs, systemClock, withinMs } from '../base/clock.js';
import { type Config, loadConfig, processEnvironment } from '../base/config.js';
import { isTcpxError, TcpxError, toTcpxError } from '../base/errors.js';
import { createLog, type Log } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import { assert } from '../base/assert.js';
import { COMMAND_OPEN_DEVICE } from '../provider/tcp/lane/messages.js';
import { Timers } from '../base/timers.js';
import { Arena } from '../memory/arena.js';
import {
  isDeviceRange,
  type Region,
  RegionRegistry,
  type RegionRights,
  type RegionSource,
  type RegionTerms,
} from '../memory/region.js';
import { allocateRegionMemory, type PageKind, type RegionMemory } from '../os/region-memory.js';
import { loadCrc32 } from '../os/fixed-memory.js';
import { type RegionTable, regionTableOver } from '../memory/region-table.js';
import type { GpuProvider } from '../gpu/staging-device.js';
import { ControlSet } from '../os/control-set.js';
import { wishOf } from './agreement.js';
import { type ConnInfo, offeredHosts } from './conn-info.js';
import { gpuSource, GpuUse } from './gpu-use.js';
import type { Identity } from './handshake.js';
import { checkEngineName } from './engine-name.js';
import { LaneCarrier } from '../provider/tcp/lane-carrier.js';
import { SIGNAL_ENTRIES, TransferTable } from '../provider/tcp/transfer-table.js';
import type { MatchHandler } from '../provider/tcpx/match-connection.js';
import type { MatchedCarrier } from '../provider/tcpx/matched-carrier.js';
import type { TcpxProvider, TcpxProviderOptions } from '../provider/tcpx/tcpx-provider.js';
import { matchedHost } from './matched-host.js';
import { type OpenedProvider, openProvider } from './provider-open.js';
import { LaneEvents } from './lane-events.js';
import { laneChoice } from './lane-choice.js';
import { LaneSet, type LaneStats } from '../provider/tcp/lane-set.js';
import type { ZeroCopyStats } from '../provider/tcp/zero-copy-stats.js';
import type { Notification } from './notification.js';
import { PeerServer } from './peer-server.js';
import { connectPeer, listNics } from './peer-client.js';
import type { Session } from './session.js';
import { type ConnectMatch, SessionTable } from './session-table.js';
import { Transfers } from './transfers.js';
import { loadTrust, type Trust, warnOfTrust } from './trust.js';

export interface EngineOptions {
  /** How peers see this agent; host name and process id by default. */
  readonly name?: string;
  /** Settings by name; what is not given comes from the environment or its default. */
  readonly settings?: Partial<SettingValues>;
  /** A configuration that was loaded already, instead of `settings`. */
  readonly config?: Config;
  readonly log?: Log;
  readonly onSession?: (session: Session) => void;
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

const FULL_RIGHTS: RegionRights = { read: true, write: true };
/** Timers of sessions run with it; it is also a net for a wake-up that was missed. */
const HEARTBEAT_MS = 50;
const CLOSE_WAIT_MS = 2000;
const CONFIRM_WAIT_MS = 100;

export class Engine {
  readonly name: string;
  readonly config: Config;
  readonly log: Log;
  readonly trust: Trust;
  readonly #control = new ControlSet();
  readonly #timers = new Timers();
  readonly #lanes: LaneSet;
  readonly #regions: RegionRegistry;
  readonly #sessions: SessionTable;
  readonly #transfers: Transfers;
  readonly #events: LaneEvents;
  readonly #identity: Identity;
  readonly #options: EngineOptions;
  readonly #gpus: GpuUse;
  readonly #opened: OpenedProvider;
  #server: PeerServer | undefined;
  #heartbeat: NodeJS.Timeout | undefined;
  #isOpen = false;
  #laneError: TcpxError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    options: EngineOptions,
    basis: { readonly name: string; readonly config: Config; readonly log: Log },
    openGpus: () => GpuProvider,
    opened: OpenedProvider,
  ) {
    this.#options = options;
    this.#opened = opened;
    this.#gpus = new GpuUse(openGpus, (device) => this.#tellDevice(device));
    this.name = basis.name;
    this.config = basis.config;
    this.log = basis.log;
    const values = this.config.values;
    this.trust = loadTrust(values);
    this.#identity = {
      name: this.name,
      generation: randomBytes(8),
      trust: this.trust,
      wish: wishOf(this.config),
      isSharedMemory: values['session.local'] === 'shm',
      offer: opened.offer,
      timeoutMs: values['session.handshakeTimeoutMs'],
    };
    if (values['flow.checksum']) loadCrc32();
    this.#lanes = this.#createLanes();
    const { shared, offsets } = this.#lanes;
    const regionTable = regionTableOver(shared, offsets.regionsAt, values['memory.regionsMax']);
    this.#regions = new RegionRegistry(regionTable);
    const entries = values['memory.transfersMax'] + SIGNAL_ENTRIES;
    const table = new TransferTable(shared, offsets.transfersAt, entries);
    const nicCount = listNics(this.config).length;
    this.#sessions = new SessionTable({
      lanes: this.#lanes,
      sessionsMax: values['session.peersMax'],
      nicCount,
      log: this.log,
      timers: this.#timers,
      limits: {
        stallMs: values['session.stallMs'],
        reconnectMs: values['session.reconnectMs'],
        controlTimeoutMs: values['session.controlTimeoutMs'],
      },
    });
    const isCallerDriven = values['lane.progress'] === 'caller';
    this.#transfers = new Transfers({
      lanes: this.#lanes,
      carrier: new LaneCarrier({
        lanes: this.#lanes,
        arena: new Arena(values['memory.arenaBytes']),
        table,
        isCallerDriven,
        openDevice: (device) => this.#gpus.open(device),
      }),
      table,
      regions: this.#regions,
      trustName: this.trust.name,
      isCallerDriven,
      spinUs: values['lane.spinUs'],
      poll: () => this.poll(),
      waitMatched: (timeoutMs) => opened.tcpx?.wait(timeoutMs),
    });
    this.#sessions.openMatched = (session, connect) =>
      this.#match(session, connect, table, regionTable);
    this.#sessions.host = {
      prepare: (session, operation, blocks) => this.#transfers.prepare(session, operation, blocks),
      postNotification: (session, message) => this.#transfers.postNotification(session, message),
      closeSession: (session, error) => this.#sessions.close(session, error),
      drive: (promise) => this.drive(promise),
    };
    this.#sessions.transfers = this.#transfers;
    this.#events = new LaneEvents({
      lanes: this.#lanes,
      sessions: this.#sessions,
      transfers: this.#transfers,
      log: this.log,
      onNotification: (notification) => this.#options.onNotification?.(notification),
      pollControl: () => this.#control.poll(),
    });
  }

  #match(
    session: Session,
    connect: ConnectMatch | undefined,
    table: TransferTable,
    regionTable: RegionTable,
  ): MatchedCarrier<Session> {
    const { tcpx } = this.#opened;
    assert(tcpx !== undefined, 'tcpx is offered where it is open');
    const parts = {
      ...{ tcpx, table, regionTable, sessions: this.#sessions, transfers: this.#transfers },
      onNotification: (one: Notification) => this.#options.onNotification?.(one),
      onActivity: () => this.#options.onActivity?.(),
    };
    return tcpx.carrier(session.peer, matchedHost(parts, session, connect));
  }

  #createLanes(): LaneSet {
    return new LaneSet({
      ...laneChoice(this.config),
      controlFd: this.#control.fd,
      staging: {
        stagingBytes: this.config.values['gpu.stagingBytes'],
        gpuModule: this.#options.gpuModule?.href ?? '',
        openProvider: this.#gpus.openProvider,
      },
      onEvent: (_, kind, at) => this.#events.handle(kind, at),
      onWake: () => this.#onWake(),
      onLaneFailed: (laneIndex, error) => this.#onLaneFailed(laneIndex, error),
    });
  }

  static async open(options: EngineOptions = {}): Promise<Engine> {
    const basis = basisOf(options);
    const { name, config, log } = basis;
    checkEngineName(name);
    const openGpus = await gpuSource(options.gpuModule);
    const { pluginEnvironment = {}, pluginOverrides = {} } = options;
    const plugin = { values: config.values, log, name, pluginEnvironment };
    const opened = await openProvider({ ...plugin, hostOverrides: pluginOverrides }, options.gpu);
    const engine = new Engine(options, basis, openGpus, opened);
    try {
      await engine.#lanes.start();
    } catch (error) {
      await engine.#lanes.close();
      engine.#control.close();
      await opened.tcpx?.close();
      throw error;
    }
    log.info('provider', { tcpx: opened.tcpx !== undefined, reason: opened.reason });
    engine.#isOpen = true;
    warnOfTrust(engine.trust, engine.log);
    engine.#heartbeat = setInterval(() => engine.#onWake(), HEARTBEAT_MS).unref();
    return engine;
  }

  /** 16 hexadecimal digits, new at every start: peers tell this engine from a successor by it. */
  get instance(): string {
    return Buffer.from(this.#identity.generation).toString('hex');
  }

  /** Whether one more transfer can be posted now. */
  get hasRoom(): boolean {
    return this.#transfers.hasRoom;
  }

  /** The port that listen() got; 0 before. */
  get port(): number {
    return this.#server?.port ?? 0;
  }

  get sessions(): readonly Session[] {
    return this.#sessions.list();
  }

  /** Makes memory reachable for peers that are given its descriptor, for ever or for a time. */
  register(
    source: RegionSource,
    rights: RegionRights = FULL_RIGHTS,
    terms: RegionTerms = {},
  ): Region {
    this.#assertOpen();
    if (isDeviceRange(source)) this.#gpus.admit(source);
    const shared = this.#opened.tcpx?.regions;
    const share = shared?.shareOf(source);
    const region = this.#regions.register(source, rights, terms, share !== undefined);
    if (share !== undefined) shared?.add(region, share);
    return region;
  }

  #tellDevice(device: number): void {
    for (let lane = 0; lane < this.#lanes.count; lane++) {
      this.#lanes.command(lane, COMMAND_OPEN_DEVICE, [device]);
    }
  }

  /**
   * Memory of the engine's own, page-aligned; register it to transfer it. Where a plugin is open it
   * can reach this host memory and no other, and has it on normal pages unless huge ones are a must.
   */
  allocate(bytes: number, pages: PageKind = 'normal'): RegionMemory {
    const { tcpx } = this.#opened;
    if (tcpx === undefined || pages === 'huge') return allocateRegionMemory(bytes, pages);
    const { buffer, addr } = tcpx.allocations.allocate(bytes);
    return { buffer, addr, pages: 'normal' };
  }

  /**
   * Peers are refused from now on. With transfers in flight this waits for them up to `waitMs`;
   * when the time is over, or without a wait (0), it fails and the region stays registered. What a
   * peer has read is in flight until it has said so, a round trip later at least.
   */
  async deregister(region: Region, waitMs = CONFIRM_WAIT_MS): Promise<void> {
    this.#assertOpen();
    this.#regions.beginClose(region);
    const endUs = systemClock.nowUs() + waitMs * 1000;
    while (this.#regions.users(region) > 0) {
      if (systemClock.nowUs() >= endUs) {
        this.#regions.cancelClose(region);
        throw new TcpxError(
          'ERR_USAGE_REGION_BUSY',
          `deregister region ${region.id}: ${this.#regions.users(region)} accesses in progress`,
        );
      }
      await sleepMs(1);
      this.poll();
    }
    await this.#opened.tcpx?.regions.remove(region);
    this.#regions.finishClose(region);
  }

  /** Accepts peers; returns the port. */
  listen(options: { readonly host?: string; readonly port?: number } = {}): number {
    this.#assertOpen();
    if (this.#server !== undefined) {
      throw new TcpxError('ERR_USAGE_STATE', `already listening on port ${this.port}`);
    }
    const values = this.config.values;
    const everybody = this.trust.acceptsNetwork ? '::' : '127.0.0.1';
    const base = values['session.port'];
    const host = options.host ?? (values['session.bind'] || everybody);
    this.#server = new PeerServer({
      set: this.#control,
      address: {
        host,
        port: options.port ?? (base === 0 ? 0 : base + values['session.portIndex']),
      },
      identity: this.#identity,
      sessions: this.#sessions,
      config: this.config,
      log: this.log,
      openMatch: this.#openMatch(),
      onSession: (session) => this.#options.onSession?.(session),
    });
    if (this.trust.name === 'loopback') {
      this.log.warn('no shared secret: peers on loopback alone are accepted', { port: this.port });
    }
    return this.port;
  }

  #openMatch() {
    const { tcpx } = this.#opened;
    const silentMs = this.config.values['session.controlTimeoutMs'];
    return tcpx && ((fd: number, handler: MatchHandler) => tcpx.openStream(fd, silentMs, handler));
  }

  /** The plugin's processes, where the tcpx provider is open. */
  get tcpx(): TcpxProvider | undefined {
    return this.#opened.tcpx;
  }

  /** Why tcpx is offered to peers, or not. */
  get providerReason(): string {
    return this.#opened.reason;
  }

  /** How peers reach this engine; listen first. */
  connInfo(): ConnInfo {
    if (this.#server === undefined) {
      throw new TcpxError('ERR_USAGE_STATE', 'connInfo: the engine does not listen');
    }
    const nic = this.config.values['session.ctrlInterface'];
    const hosts = offeredHosts(this.#server.host, nic, networkInterfaces());
    return { instance: this.instance, port: this.port, hosts };
  }

  /** Makes a session with the peer that listens there. */
  async connect(host: string, port?: number, choice: ConnectChoice = {}): Promise<Session> {
    this.#assertOpen();
    const values = this.config.values;
    return this.drive(
      connectPeer({
        set: this.#control,
        host,
        port: port ?? values['session.port'] + values['session.portIndex'],
        identity: this.#identity,
        sessions: this.#sessions,
        config: this.config,
        isPatient: choice.isPatient ?? true,
        openMatch: this.#openMatch(),
      }),
    );
  }

  /** Where callers drive: keeps data moving from the event loop until the promise settles. */
  async drive<T>(promise: Promise<T>): Promise<T> {
    this.#transfers.beginAwait();
    try {
      return await promise;
    } finally {
      this.#transfers.endAwait();
    }
  }

  /** Moves data where callers drive, and nothing else: completions are seen at the next poll. */
  progress(): void {
    if (this.#isOpen) this.#lanes.progress();
  }

  /** Moves data where callers drive; takes events. Cheap when there is nothing. */
  poll(): void {
    if (!this.#isOpen) return;
    this.#lanes.progress();
    if (this.#transfers.isTimeForControl()) this.#control.poll();
    if (this.#timers.count > 0) this.#timers.run(systemClock.nowUs());
    this.#opened.tcpx?.poll();
    const count = this.#lanes.takeEvents();
    this.#events.deliver();
    if (count > 0) this.#options.onActivity?.();
  }

  /** The clock by which transfers are timed. */
  nowUs(): number {
    return systemClock.nowUs();
  }

  /** What sends by reference came to, by channel; empty where socket.sendBy is copy. */
  zeroCopyStats(): ZeroCopyStats[] {
    this.#assertOpen();
    return this.#lanes.zeroCopy();
  }

  laneStats(): LaneStats[] {
    this.#assertOpen();
    return this.#lanes.stats();
  }

  // Drained, then asleep again, then looked once more: nothing falls between.
  #onWake(): void {
    if (!this.#isOpen) return;
    this.#timers.run(systemClock.nowUs());
    this.#control.poll();
    this.#lanes.takeEvents();
    this.#lanes.sleepMain();
    this.#control.poll();
    this.#lanes.takeEvents();
    this.#events.deliver();
    this.#options.onActivity?.();
  }

  #onLaneFailed(laneIndex: number, error: Error): void {
    this.log.error('lane failed', { lane: laneIndex, reason: error.message });
    const cause = isTcpxError(error)
      ? error
      : toTcpxError(error, 'ERR_SYS_CALL', `lane ${laneIndex}`);
    this.#laneError = cause;
    this.#sessions.onLaneFailed(laneIndex, cause);
  }

  /** Says goodbye to every peer, ends the lanes and frees what the engine holds. */
  close(): Promise<void> {
    if (!this.#isOpen && this.#closing === undefined) return Promise.resolve();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#server?.close();
    const closed = Promise.all(this.#sessions.list().map((session) => session.close()));
    await this.drive(withinMs(closed, CLOSE_WAIT_MS));
    this.#isOpen = false;
    this.#timers.clear();
    clearInterval(this.#heartbeat);
    // First: what is still being connected fails, while the lanes can take back its channels.
    this.#control.close();
    await this.#lanes.close(() => this.#transfers.abandonAll());
    await this.#opened.tcpx?.close();
    this.#gpus.close();
  }

  #assertOpen(): void {
    if (this.#laneError !== undefined) {
      throw new TcpxError('ERR_USAGE_STATE', `a lane has failed: ${this.#laneError.message}`, {
        cause: this.#laneError,
      });
    }
    if (!this.#isOpen) throw new TcpxError('ERR_USAGE_STATE', 'the engine is closed');
  }
}

function basisOf(options: EngineOptions) {
  const config =
    options.config ??
    loadConfig({ options: options.settings ?? {}, environment: processEnvironment() });
  const { 'log.level': level, 'log.format': format } = config.values;
  const log = options.log ?? createLog({ level, format });
  return { name: options.name ?? `${hostname()}:${process.pid}`, config, log };
}
