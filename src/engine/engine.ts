// The engine: regions, sessions, transfers and the lanes that move them. Everything here runs on
// the thread that opened it.

import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { openWithSignal } from '../base/abort.js';
import { systemClock, withinMs } from '../base/clock.js';
import type { Config } from '../base/config.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { Timers } from '../base/timers.js';
import { plural } from '../base/units.js';
import type { GpuProvider } from '../gpu/staging-device.js';
import type { Region, RegionRights, RegionSource } from '../memory/region.js';
import { ControlSet } from '../os/control-set.js';
import { loadCrc32 } from '../os/fixed-memory.js';
import { LinkWatch } from '../os/link-watch.js';
import type { PageKind, RegionMemory } from '../os/region-memory.js';
import { COMMAND_OPEN_DEVICE } from '../provider/tcp/lane/messages.js';
import type { LaneStats } from '../provider/tcp/lane-stats.js';
import type { ZeroCopyStats } from '../provider/tcp/zero-copy-stats.js';
import type { TcpxProvider } from '../provider/tcpx/tcpx-provider.js';
import type { ConnInfo } from './conn-info.js';
import { basisOf } from './engine-basis.js';
import { EngineCore, limitsOf } from './engine-core.js';
import { EngineDoor } from './engine-door.js';
import { EngineMemory } from './engine-memory.js';
import {
  type ConnectOptions,
  checkEngineOptions,
  checkPromise,
  checkRegion,
  type DeregisterOptions,
  deregisterOptionsOf,
  type EngineOptions,
  type ListenPlace,
} from './engine-options.js';
import { type EngineTurns, engineTurns, ownLaneHost } from './engine-turns.js';
import { GpuUse, gpuSource } from './gpu-use.js';
import { type Identity, identityOf } from './identity.js';
import { MainLook } from './main-look.js';
import { type NotificationStream, NotificationStreams } from './notification-stream.js';
import { settleBoundMs } from './progress-watch.js';
import { constructed, type OpenedProvider, openProvider } from './provider-open.js';
import { type RegisterOptions, registerOptionsOf } from './register-options.js';
import type { Session } from './session.js';
import { loadTrust, warnOfTrust } from './trust.js';
import { ownLaneUseHere, tunedHere } from './tuned-config.js';
import { withPluginWindows } from './tuning.js';

const FULL_RIGHTS: RegionRights = { read: true, write: true };
/** Timers of sessions run with it; it is also a net for a wake-up that was missed. */
const HEARTBEAT_MS = 25;
const CLOSE_WAIT_MS = 2000;

/** The plugin's processes, where the tcpx provider is open: for our own tools, not for programs. */
export let tcpxOf: (engine: Engine) => TcpxProvider | undefined;

/** For the node service, whose thread does nothing else. */
export let turnsOf: (engine: Engine) => EngineTurns;

/**
 * One end: its memory, its sessions, its threads. Open one per process, close it when done.
 * @example
 * await using engine = await Engine.open({ name: 'decode-0' });
 */
export class Engine {
  static {
    tcpxOf = (engine) => engine.#opened.tcpx;
    turnsOf = (engine) => engineTurns(engine.#core.lanes, () => engine.#turn());
  }

  /** Name that peers see; host and process id where none was given. */
  readonly name: string;
  /** The settings that it was opened with. */
  readonly config: Config;
  /** Where it writes events. */
  readonly log: Log;
  /** Who may come in: who knows the `secret`, `loopback` peers alone, or the whole `network`. */
  readonly trust: 'secret' | 'loopback' | 'network';
  readonly #control: ControlSet;
  readonly #timers = new Timers();
  readonly #look = new MainLook({
    look: () => this.#control.poll() + this.#core.lanes.look() + this.#core.lanes.takeEvents(),
    sleep: () => this.#core.lanes.sleepMain(),
    again: () => this.#onWake(),
  });
  readonly #core: EngineCore;
  readonly #door: EngineDoor;
  readonly #memory: EngineMemory;
  readonly #identity: Identity;
  readonly #options: EngineOptions;
  readonly #streams: NotificationStreams;
  readonly #gpus: GpuUse;
  readonly #opened: OpenedProvider;
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
    this.#gpus = new GpuUse(openGpus, (device) =>
      this.#core.lanes.commandAll(COMMAND_OPEN_DEVICE, [device]),
    );
    ({ name: this.name, config: this.config, log: this.log } = basis);
    const values = this.config.values;
    this.#control = new ControlSet(values['memory.spareControls']);
    this.#streams = new NotificationStreams(values);
    const trust = loadTrust(values);
    this.trust = trust.name;
    const self = { name: this.name, generation: randomBytes(8), trust, offer: opened.offer };
    this.#identity = identityOf(self, this.config, options.isServed);
    if (values['flow.checksum']) loadCrc32();
    const ownLaneUse = ownLaneUseHere(this.config, options.isServed);
    this.#core = new EngineCore({
      ...{ config: this.config, log: this.log, timers: this.#timers, isServed: options.isServed },
      trustName: this.trust,
      tcpx: opened.tcpx,
      controlFd: this.#control.fd,
      ownLane: ownLaneUse && { use: ownLaneUse, host: ownLaneHost(this.#control, this.#look) },
      staging: {
        stagingBytes: values['gpu.stagingBytes'],
        gpuModule: options.gpuModule?.href ?? '',
        openProvider: openGpus,
      },
      openDevice: (device) => this.#gpus.open(device),
      pollControl: () => this.#control.poll(),
      poll: () => this.poll(),
      drive: (promise) => this.drive(promise),
      onWake: () => this.#onWake(),
      onLaneFailed: (laneIndex, error) => this.#onLaneFailed(laneIndex, error),
      onNotification: (notification) => {
        this.#streams.push(notification);
        this.#options.onNotification?.(notification);
      },
      onActivity: () => this.#options.onActivity?.(),
    });
    this.#memory = new EngineMemory(this.#core.regions, this.#gpus, opened.tcpx, options.shareOf);
    this.#door = new EngineDoor({
      ...{ control: this.#control, config: this.config, log: this.log, opened },
      ...{ identity: this.#identity, sessions: this.#core.sessions },
      isServed: options.isServed === true,
      onSession: (session) => options.onSession?.(session.face),
      after: (delayMs, act) => this.#timers.at(systemClock.nowUs() + delayMs * 1000, act),
    });
  }

  /** Starts an engine. Rejects with `ERR_CONFIG_…` or `ERR_CAP_…` where it cannot run. */
  static async open(options: EngineOptions = {}): Promise<Engine> {
    checkEngineOptions(options);
    return openWithSignal('Engine.open', options.signal, () => Engine.#open(options));
  }

  static async #open(options: EngineOptions): Promise<Engine> {
    const { name, config, log } = basisOf(options);
    const openGpus = await gpuSource(options.gpuModule);
    const { pluginEnvironment = {}, pluginOverrides = {} } = options;
    const { values } = withPluginWindows(config);
    const plugin = { values, log, name, pluginEnvironment };
    const opened = await openProvider({ ...plugin, hostOverrides: pluginOverrides }, options.gpu);
    const basis = { name, config: tunedHere(config), log };
    const engine = await constructed(opened, () => new Engine(options, basis, openGpus, opened));
    await engine.#core.lanes.start().catch(async (error: unknown) => {
      await engine.#core.lanes.close();
      engine.#control.close();
      await opened.tcpx?.close();
      throw error;
    });
    log.info('provider', { tcpx: opened.tcpx !== undefined, reason: opened.reason });
    engine.#isOpen = true;
    warnOfTrust(engine.#identity.trust, engine.log);
    const { sessions } = engine.#core;
    const watch = LinkWatch.open(engine.#control, (nic) => sessions.onLinkDown(nic));
    if (typeof watch === 'string') log.info('links are not watched', { reason: watch });
    engine.#heartbeat = setInterval(() => engine.#onWake(), HEARTBEAT_MS).unref();
    return engine;
  }

  /** 16 hexadecimal digits, new at every start: peers tell this engine from a successor by it. */
  get instance(): string {
    return Buffer.from(this.#identity.generation).toString('hex');
  }

  /** Whether one more transfer can be posted now. */
  get hasRoom(): boolean {
    return this.#core.transfers.hasRoom;
  }

  /** The port that listen() got; 0 before. */
  get port(): number {
    return this.#door.port;
  }

  /** Those that are not closed yet. */
  get sessions(): readonly Session[] {
    return this.#core.sessions.list().map((session) => session.face);
  }

  /** Makes memory reachable for peers that are given its descriptor, for ever or for a time. */
  register(source: RegionSource, options: RegisterOptions | RegionRights = {}): Region {
    this.#assertOpen();
    const { name, rights = FULL_RIGHTS, ...terms } = registerOptionsOf(options);
    if (name !== undefined) this.#core.names.assertFree(name);
    const region = this.#memory.register(source, rights, terms);
    if (name !== undefined) this.#core.names.add(name, region);
    return region;
  }

  /**
   * Memory of the engine's own, page-aligned; register it to transfer it. Large memory lies on huge
   * pages where the kernel gives them; with a plugin on normal pages, which alone it can reach.
   */
  allocate(bytes: number, pages: PageKind = 'auto'): RegionMemory {
    return this.#memory.allocate(bytes, pages);
  }

  /**
   * Peers are refused from now on. With transfers in flight this waits for them up to `waitMs`, by
   * default as long as peers can hold memory; when the time is over, or without a wait (0), it
   * fails and the region stays registered. What a peer has read is in flight until it has said so.
   * A number in place of the options is `waitMs`.
   */
  async deregister(region: Region, options: number | DeregisterOptions = {}): Promise<void> {
    checkRegion(region);
    this.#assertOpen();
    const { waitMs = settleBoundMs(limitsOf(this.config), 0), signal } =
      deregisterOptionsOf(options);
    await this.#memory.deregister(region, { waitMs, signal }, () => this.poll());
    this.#core.names.remove(region);
  }

  /** Accepts peers; returns the port. */
  listen(where: ListenPlace = {}): number {
    this.#assertOpen();
    return this.#door.listen(where);
  }

  /** Why tcpx is offered to peers, or not. */
  get providerReason(): string {
    return this.#opened.reason;
  }

  /** How peers reach this engine; listen first. */
  connInfo(): ConnInfo {
    return this.#door.connInfo(this.instance);
  }

  /**
   * Makes a session with the peer that listens at `host:port`. A number in place of the options is
   * the port. Rejects with `ERR_PEER_…`, `ERR_WIRE_AUTH` or `ERR_SYS_RESOLVE`.
   */
  async connect(where: string, options: number | ConnectOptions = {}): Promise<Session> {
    this.#assertOpen();
    const session = await this.drive(this.#door.connect(where, options));
    return session.face;
  }

  /**
   * Notifications of all peers from now on, for `for await`; ends with the engine, or with the
   * signal. One that falls far behind fails with `ERR_USAGE_STATE`.
   */
  notifications(options: { readonly signal?: AbortSignal } = {}): NotificationStream {
    this.#assertOpen();
    return this.#streams.open(options);
  }

  /**
   * Lets the process end though the engine is open: it holds the process no longer than somebody
   * awaits something of it (a transfer, a connection, a lookup), or a session was told to by
   * `session.ref()`. Peers see it as lost. With `lane.progress=caller` it never holds more.
   */
  unref(): this {
    this.#core.hold.setWanted(false);
    return this;
  }

  /** Takes `unref` back: an open engine keeps the process, as from the start. */
  ref(): this {
    this.#core.hold.setWanted(true);
    return this;
  }

  /** As `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** A line: its name, where it listens, its sessions. Never the secret. */
  [inspect.custom](): string {
    const { name, port, sessions, trust } = this;
    const where = port === 0 ? '' : `, port ${port}`;
    const count = plural(sessions.length, 'session');
    return `Engine { ${name}${where}, ${count}, trust: ${trust} }`;
  }

  /** Where callers drive: keeps data moving from the event loop until the promise settles. */
  async drive<T>(promise: Promise<T>): Promise<T> {
    checkPromise(promise);
    this.#core.transfers.beginAwait();
    try {
      return await promise;
    } finally {
      this.#core.transfers.endAwait();
    }
  }

  /** Moves data where callers drive, and nothing else: completions are seen at the next poll. */
  progress(): void {
    if (this.#isOpen) this.#core.lanes.progress();
  }

  /** Moves data where callers drive; takes events. Cheap when there is nothing. */
  poll(): void {
    this.#turn();
  }

  #turn(): number {
    if (!this.#isOpen) return 0;
    const moved = this.#core.lanes.progress();
    if (this.#core.transfers.isTimeForControl()) this.#control.poll();
    if (this.#timers.count > 0) this.#timers.run(systemClock.nowUs());
    this.#opened.tcpx?.poll();
    const count = this.#core.lanes.takeEvents();
    this.#core.events.deliver();
    if (count > 0) this.#options.onActivity?.();
    return moved + count;
  }

  /** The clock by which transfers are timed. */
  nowUs(): number {
    return systemClock.nowUs();
  }

  /** What sends by reference came to, by channel; empty where socket.sendBy is copy. */
  zeroCopyStats(): ZeroCopyStats[] {
    this.#assertOpen();
    return this.#core.lanes.zeroCopy();
  }

  /** How often each lane turned and slept, and on which CPU. */
  laneStats(): LaneStats[] {
    this.#assertOpen();
    return this.#core.lanes.stats();
  }

  #onWake(): void {
    if (!this.#isOpen) return;
    this.#timers.run(systemClock.nowUs());
    this.#look.wake();
    this.#core.events.deliver();
    this.#options.onActivity?.();
  }

  #onLaneFailed(laneIndex: number, error: Error): void {
    this.log.error('lane failed', { lane: laneIndex, reason: error.message });
    const cause = toTcpxError(error, 'ERR_SYS_CALL', `lane ${laneIndex}`);
    this.#laneError = cause;
    this.#core.sessions.onLaneFailed(laneIndex, cause);
  }

  /** Says goodbye to every peer, ends the lanes and frees what the engine holds. */
  close(): Promise<void> {
    if (!this.#isOpen && this.#closing === undefined) return Promise.resolve();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#core.hold.setWanted(true);
    this.#core.lanes.own?.letGo();
    this.#door.close();
    const closed = Promise.all(this.#core.sessions.list().map((session) => session.close()));
    await this.drive(withinMs(closed, CLOSE_WAIT_MS));
    this.#isOpen = false;
    this.#streams.end();
    this.#timers.clear();
    clearInterval(this.#heartbeat);
    // First: what is still being connected fails, while the lanes can take back its channels.
    this.#control.close();
    await this.#core.close();
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
