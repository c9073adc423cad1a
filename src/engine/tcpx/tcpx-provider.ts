// The tcpx provider: sessions whose data goes through an NCCL net plugin in processes of its own.
// An engine of the tcp provider carries the control messages, so that peers have proved who they
// are before a handle is exchanged.

import { sleepMs, systemClock } from '../../base/clock.js';
import { type Config, loadConfig, processEnvironment } from '../../base/config.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { createLog, type Log } from '../../base/log.js';
import type { SettingValues } from '../../base/settings.js';
import {
  type DeviceRange,
  isDeviceRange,
  type Region,
  type RegionRights,
} from '../../memory/region.js';
import type { HostOptions } from '../../provider/tcpx/host-message.js';
import type { RailSetOptions } from '../../provider/tcpx/rail-process.js';
import { RailSet } from '../../provider/tcpx/rail-set.js';
import { DeviceSharer, shareHostMemory } from '../../provider/tcpx/region-share.js';
import { allocateShared, type SharedMemory } from '../../provider/tcpx/shared-region.js';
import { Engine } from '../engine.js';
import type { Notification } from '../notification.js';
import type { Session } from '../session.js';
import { ControlLink } from './control-link.js';
import { RegionBook } from './region-book.js';
import { TcpxPeerSession } from './tcpx-session.js';

export interface TcpxProviderOptions {
  readonly name?: string;
  readonly settings?: Partial<SettingValues>;
  readonly config?: Config;
  readonly log?: Log;
  /** Lets the emulator's peers of the same host through; a real plugin cannot. */
  readonly isSameHostAllowed?: boolean;
  /** Whose memory is moved, and which GPUs are behind which NICs. */
  readonly rails?: Pick<RailSetOptions, 'gpu' | 'nicGpus'>;
  /** Added to the environment of the plugin processes. */
  readonly pluginEnvironment?: Readonly<Record<string, string>>;
  /** For tests: changes what the plugin processes are told. */
  readonly hostOverrides?: Partial<HostOptions>;
  readonly onSession?: (session: TcpxPeerSession) => void;
  readonly onNotification?: (session: TcpxPeerSession, bytes: Uint8Array) => void;
}

const DEREGISTER_WAIT_MS = 1000;
const FULL_RIGHTS: RegionRights = { read: true, write: true };

export class TcpxProvider {
  readonly config: Config;
  readonly log: Log;
  readonly rails: RailSet;
  readonly #options: TcpxProviderOptions;
  readonly #regions: RegionBook;
  readonly #devices = new DeviceSharer();
  readonly #sessions = new Map<Session, { link: ControlLink; peer: TcpxPeerSession }>();
  #engine: Engine | undefined;

  private constructor(options: TcpxProviderOptions) {
    this.#options = options;
    this.config =
      options.config ??
      loadConfig({ options: options.settings ?? {}, environment: processEnvironment() });
    const { values } = this.config;
    this.#regions = new RegionBook(values['memory.regionsMax']);
    this.log =
      options.log ?? createLog({ level: values['log.level'], format: values['log.format'] });
    this.rails = new RailSet({
      values,
      log: this.log,
      role: options.name ?? 'peer',
      isSameHostAllowed: options.isSameHostAllowed ?? false,
      environment: options.pluginEnvironment ?? {},
      hostOverrides: options.hostOverrides ?? {},
      ...options.rails,
    });
  }

  /** Loads the plugin in its processes; fails with what the plugin said. */
  static async open(options: TcpxProviderOptions = {}): Promise<TcpxProvider> {
    const provider = new TcpxProvider(options);
    try {
      await provider.rails.open();
      provider.#engine = await provider.#openEngine();
    } catch (error) {
      await provider.close();
      throw error;
    }
    return provider;
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error('unreachable: the provider is open');
    return this.#engine;
  }

  listen(options: { readonly host?: string; readonly port?: number } = {}): number {
    return this.engine.listen(options);
  }

  /** Connects control and all channels. */
  async connect(host: string, port: number): Promise<TcpxPeerSession> {
    const session = await this.engine.connect(host, port);
    const { peer } = this.#adopt(session, 'client');
    await peer.ready();
    return peer;
  }

  /** Memory that plugin processes can reach; register it to transfer it. */
  allocate(bytes: number): SharedMemory {
    return allocateShared(bytes);
  }

  /**
   * Host memory of `allocate`, or memory of a GPU as its owner allocated it; the owner keeps it
   * until `deregister` has resolved.
   */
  async register(
    memory: SharedMemory | DeviceRange,
    rights: RegionRights = FULL_RIGHTS,
  ): Promise<Region> {
    const isDevice = isDeviceRange(memory);
    const { addr, bytes } = memory;
    const share = isDevice ? this.#devices.share(memory) : shareHostMemory(memory);
    const source = isDevice ? { device: memory.device, addr, bytes } : { addr, bytes };
    const region = this.#regions.register(source, rights);
    try {
      await this.rails.addRegion(region.id, share);
    } catch (error) {
      this.#regions.forget(region);
      share.close();
      throw error;
    }
    this.#regions.add(region, share);
    return region;
  }

  /** Waits for transfers in flight that touch the region; refused when the time is over. */
  async deregister(region: Region, waitMs = DEREGISTER_WAIT_MS): Promise<void> {
    const endUs = systemClock.nowUs() + waitMs * 1000;
    const user = () => [...this.#sessions.values()].find(({ peer }) => peer.usesRegion(region.id));
    for (let busy = user(); busy !== undefined; busy = user()) {
      if (systemClock.nowUs() >= endUs) {
        throw new TcpxError(
          'ERR_USAGE_REGION_BUSY',
          `deregister region ${region.id}: transfers with ${busy.link.peer} use it`,
        );
      }
      await sleepMs(1);
    }
    const share = this.#regions.hide(region);
    if (share === undefined) {
      throw new TcpxError('ERR_USAGE_STATE', `deregister region ${region.id}: not registered`);
    }
    await this.rails.removeRegion(region.id);
    this.#regions.forget(region);
    share.close();
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ peer }) => peer.close()));
    await this.#engine?.close();
    await this.rails.close();
    for (const share of this.#regions.shares()) share.close();
    this.#devices.close();
  }

  #openEngine(): Promise<Engine> {
    const { values } = this.config;
    // Control needs order and little else: one channel, wherever routing leads. Bound cores are the
    // plugin's, and a lane that looks again and again takes them from the hosts that move the data.
    const control = {
      'flow.channels': 1,
      'lane.count': 1,
      'lane.spinUs': 0,
      'lane.bindings': '',
      'session.nics': '',
    } as const;
    return Engine.open({
      ...(this.#options.name === undefined ? {} : { name: this.#options.name }),
      config: loadConfig({ options: { ...values, ...control } }),
      log: this.log,
      onSession: (session) => {
        const { peer } = this.#adopt(session, 'server');
        this.#options.onSession?.(peer);
      },
      onNotification: (notification) => this.#onNotification(notification),
      onActivity: () => {
        for (const { link } of this.#sessions.values()) link.pump();
      },
    });
  }

  #adopt(session: Session, role: 'client' | 'server') {
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    const link = new ControlLink(this.engine, session);
    const peer = new TcpxPeerSession({
      role,
      link,
      rails: this.rails,
      regions: this.#regions,
      isSourceReady: (event) => this.#devices.hasHappened(event),
      values: this.config.values,
      log: this.log,
      trustName: this.engine.trust.name,
      onNotification: (from, bytes) => this.#options.onNotification?.(from, bytes),
    });
    const adopted = { link, peer };
    this.#sessions.set(session, adopted);
    void session.closed.then(async () => {
      await peer.close(lostError(session));
      this.#sessions.delete(session);
    });
    return adopted;
  }

  #onNotification({ session, bytes }: Notification): void {
    const { link, peer } = this.#sessions.get(session) ?? this.#adopt(session, 'server');
    try {
      const message = link.receive(bytes);
      if (message !== undefined) peer.onMessage(message);
    } catch (error) {
      if (!isTcpxError(error)) throw error;
      this.log.error('tcpx session closed', { peer: session.peer, code: error.code });
      void session.close();
    }
  }
}

function lostError(session: Session): TcpxError {
  return session.error ?? new TcpxError('ERR_PEER_LOST', `${session.peer}: session ended`);
}
