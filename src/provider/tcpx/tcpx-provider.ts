// The tcpx provider of an engine: an NCCL net plugin in processes of its own, the memory that they
// have mapped, and a matched carrier for every session that both ends want one for.

import { systemClock } from '../../base/clock.js';
import type { TcpxError } from '../../base/errors.js';
import type { Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import { clearPipe } from '../../ffi/libc/file-descriptor.js';
import { waitReadable } from '../../ffi/libc/poll.js';
import { SpinRest } from '../../os/spin-rest.js';
import type { PluginIdentity } from '../../wire/match-hello.js';
import type { SourceEvent } from '../contract.js';
import { ChannelSet } from './channel-set.js';
import type { HostOptions } from './host-message.js';
import { IntakeWatch } from './intake-watch.js';
import type { MatchHandler } from './match-connection.js';
import { type MatchSocketEvents, WatchedSocket } from './match-socket.js';
import { MatchStream, type StreamWatch } from './match-stream.js';
import { MatchedCarrier } from './matched-carrier.js';
import type { MatchedHost } from './matched-host.js';
import type { MatchedProvider } from './matched-provider.js';
import { channelNics } from './rail-plan.js';
import type { RailSetOptions } from './rail-process.js';
import { RailSet } from './rail-set.js';
import { DeviceSharer } from './region-share.js';
import { SharedAllocations } from './shared-allocations.js';
import { SharedRegions } from './shared-regions.js';

export interface TcpxProviderOptions {
  readonly values: SettingValues;
  readonly log: Log;
  /** For traces: which end this is. */
  readonly name: string;
  /** Whose memory is moved, and which GPUs are behind which NICs. */
  readonly rails?: Pick<RailSetOptions, 'gpu' | 'nicGpus'>;
  /** Added to the environment of the plugin processes. */
  readonly pluginEnvironment?: Readonly<Record<string, string>>;
  /** Device-memory packets, by NIC, of those that count them. */
  readonly devmemPackets: (
    nics: readonly string[],
    isEmulated: boolean,
  ) => ReadonlyMap<string, number>;
  /** For tests: changes what the plugin processes are told. */
  readonly hostOverrides?: Partial<HostOptions>;
}

/** Looks at memory between two looks at sockets: those cost a system call. */
const LOOKS_PER_CALL = 16;
/** The same where another thread looks at the sockets: a net for a word that was lost. */
const LOOKS_PER_NET = 65_536;
/** Spinning ends after this time; then the thread sleeps until a process or a peer writes. */
const SPIN_US = 100;
const SLEEP_MS = 10;

export class TcpxProvider implements MatchedProvider {
  readonly rails: RailSet;
  readonly regions: SharedRegions;
  readonly allocations = new SharedAllocations();
  /** What the NICs of this end take in. */
  readonly intake: IntakeWatch;
  readonly #options: TcpxProviderOptions;
  readonly #rest = new SpinRest();
  readonly #devices = new DeviceSharer();
  readonly #streams = new Set<MatchStream>();
  #looks = 0;

  private constructor(options: TcpxProviderOptions) {
    this.#options = options;
    this.rails = new RailSet({
      values: options.values,
      log: options.log,
      role: options.name,
      isSameHostAllowed: false,
      environment: options.pluginEnvironment ?? {},
      hostOverrides: options.hostOverrides ?? {},
      ...options.rails,
    });
    const { devmemPackets, values } = options;
    const source = {
      receivedBytes: () => this.rails.receivedBytes(),
      devmemPackets: (nics: readonly string[]) => devmemPackets(nics, this.rails.facts.isEmulated),
      nowMs: () => performance.now(),
    };
    this.intake = new IntakeWatch(source, values['tcpx.hostRecv']);
    this.regions = new SharedRegions(this.rails, this.#devices, this.allocations);
  }

  /** Loads the plugin in its processes; fails with what the plugin said. */
  static async open(options: TcpxProviderOptions): Promise<TcpxProvider> {
    const provider = new TcpxProvider(options);
    try {
      await provider.rails.open();
    } catch (error) {
      await provider.close();
      throw error;
    }
    return provider;
  }

  /** A real plugin ends its process when both ends are on one host; the emulator does not. */
  get isSameHostServed(): boolean {
    return this.rails.facts.isEmulated;
  }

  get plugin(): PluginIdentity {
    const { name, tableVersion, isEmulated, pointerType, emulatorVersion } = this.rails.facts;
    const version = this.rails.pluginVersion || emulatorVersion || 'unknown';
    return { name, version, tableVersion, isEmulated, pointerType };
  }

  /** The matched carrier of a session. */
  carrier<S>(peer: string, host: MatchedHost): MatchedCarrier<S> {
    const { values, log } = this.#options;
    const nics = channelNics(this.rails.nics, values['flow.channels']);
    return new MatchedCarrier<S>({
      peer,
      values,
      log,
      host,
      ownPlugin: () => this.plugin,
      unpackedBy: () => this.rails.facts.unpackedBy,
      nics: () => this.rails.nics,
      channelCount: () => nics.length,
      intake: this.intake,
      openSet: (_, listener) => ChannelSet.open(this.rails, nics, listener),
    });
  }

  /** Takes a connected socket that has proved itself. */
  openStream(
    fd: number,
    silentMs: number,
    handler: MatchHandler,
    watcher?: StreamWatch,
  ): MatchStream {
    const open = (events: MatchSocketEvents) => new WatchedSocket(fd, silentMs, events);
    const own: MatchHandler = {
      onFrame: (frame) => handler.onFrame(frame),
      onEnd: (error: TcpxError) => {
        this.#streams.delete(stream);
        handler.onEnd(error);
      },
    };
    const most = this.#options.values['tcpx.outboxBytes'];
    const stream: MatchStream = new MatchStream(open, own, most, watcher);
    this.#streams.add(stream);
    return stream;
  }

  hold(isHeld: boolean): void {
    this.rails.hold(isHeld);
  }

  hasHappened(event: SourceEvent): boolean {
    return this.#devices.hasHappened(event);
  }

  /**
   * Takes what the processes have said. Sockets are looked at by whoever polls a few times, then by
   * a lane, which tells: a thread that looks again and again makes no system call.
   */
  poll(): void {
    this.rails.drain();
    this.#looks++;
    if (this.#looks % LOOKS_PER_CALL !== 0) return;
    const isNet = this.#looks >= LOOKS_PER_NET;
    if (isNet) this.#looks = 0;
    for (const stream of this.#streams) {
      if (!stream.isOpen) this.#streams.delete(stream);
      else if (isNet || stream.needsLooks) {
        // First: what comes before the look is read by it, what comes after it is told.
        stream.watch();
        stream.poll();
      }
    }
  }

  #pollStreams(): void {
    for (const stream of this.#streams) {
      if (stream.isOpen) stream.poll();
      else this.#streams.delete(stream);
    }
  }

  /** Blocks the thread until a process or a peer has said something, or the time is over. */
  wait(timeoutMs: number): void {
    let nowUs = systemClock.nowUs();
    const untilUs = nowUs + Math.min(timeoutMs * 1000, SPIN_US);
    while (nowUs < untilUs && !this.#rest.isResting(nowUs)) {
      if (this.rails.drain() > 0) return;
      this.#rest.yield();
      nowUs = systemClock.nowUs();
    }
    this.#pollStreams();
    this.rails.checkBeats();
    const wakeFds = this.rails.wakeFds();
    const streamFds = [...this.#streams].map(({ fd }) => fd);
    const isWoken = waitReadable([...wakeFds, ...streamFds], Math.min(timeoutMs, SLEEP_MS)) > 0;
    if (!isWoken) return;
    // The event loop, which would empty the pipes, does not run meanwhile.
    for (const fd of wakeFds) clearPipe(fd);
    this.rails.drain();
    this.#pollStreams();
  }

  async close(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
    await this.rails.close();
    this.regions.closeAll();
    this.#devices.close();
  }
}
