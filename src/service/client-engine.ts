// The engine behind one client: everything that this service asks of the engine and of the agent's
// backend goes through this file. A client is an agent to its peers, with a name, a port and
// notifications like those of an agent in TypeScript, so either can talk to the other.

import { type Config, isByHand, loadConfig } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { SETTING_NAMES, SETTINGS, type SettingName } from '../base/settings.js';
import { didYouMean } from '../base/suggestion.js';
import { formatConnInfo, parseConnInfo } from '../engine/conn-info.js';
import { Engine, tcpxOf, turnsOf } from '../engine/engine.js';
import type { EngineTurns } from '../engine/engine-turns.js';
import type { BlockColumns, RegionShare } from '../engine/internal.js';
import { formatRegion, parseRegion } from '../engine/region-text.js';
import type { Session } from '../engine/session.js';
import { tunedServed } from '../engine/tuned-config.js';
import { HOST_DEVICE } from '../gpu/staging-device.js';
import type { Region, RegionDescriptor, RegionRights, RegionSource } from '../memory/region.js';
import { checkAgentName } from '../nixl/names.js';
import type { NixlNotification } from '../nixl/notif-codec.js';
import { TcpxInbox } from '../nixl/tcpx-inbox.js';
import { TcpxPeer } from '../nixl/tcpx-peer.js';
import { TcpxXfer } from '../nixl/tcpx-xfer.js';
import { memoryModuleOf } from './host-device.js';
import type { OtherProcess } from './process-copies.js';

/** How long deregister waits for a peer that is just writing. */
const DEREGISTER_WAIT_MS = 500;
const PORT_MAX = SETTINGS['session.port'].maximum;
/** What a client may choose for its own engine; the rest is the service's, trust above all. */
const CLIENT_SETTINGS = /^(flow|lane|socket|gpu|plugin|tcpx)\.|^(session\.nics|engine\.provider)$/;

export interface ClientEngineOptions {
  readonly name: string;
  /** Lines of name=value. */
  readonly settings: string;
  /** The service's own, which those settings come on top of. */
  readonly config: Config;
  readonly process: OtherProcess;
  /** Number of the client among those attached: its place in a range of ports. */
  readonly index: number;
  readonly log: Log;
  onActivity(): void;
}

/** How a plugin reaches memory that a client has lent; what is copied is not in it. */
type Shares = WeakMap<RegionSource, () => RegionShare>;

export type ServicePeer = TcpxPeer;
export type ServiceTransfer = TcpxXfer;

export class ClientEngine {
  readonly info: string;
  readonly #engine: Engine;
  readonly #turns: EngineTurns;
  readonly #inbox: TcpxInbox;
  readonly #inbound: Map<string, Session>;
  readonly #shares: Shares;
  readonly #peers = new Set<TcpxPeer>();
  /** Notifications have come since they were drained last. */
  hasNotifications = false;

  private constructor(
    engine: Engine,
    inbox: TcpxInbox,
    inbound: Map<string, Session>,
    shares: Shares,
  ) {
    this.#engine = engine;
    this.#turns = turnsOf(engine);
    this.#shares = shares;
    this.#inbox = inbox;
    this.#inbound = inbound;
    this.info = formatConnInfo(engine.connInfo());
  }

  static async open(options: ClientEngineOptions): Promise<ClientEngine> {
    const { name, log } = options;
    checkAgentName(name, 'attach');
    const config = configOf(options.settings, options.config);
    const bytesMax = config.values['service.inboxBytes'];
    const inbox = new TcpxInbox(log, {
      bytesMax,
      peerBytesMax: bytesMax,
      partialsMax: config.values['nixl.partialsMax'],
      earlyMax: config.values['nixl.earlyMax'],
    });
    const inbound = new Map<string, Session>();
    const shares: Shares = new WeakMap();
    let opened: ClientEngine | undefined;
    const engine = await Engine.open({
      name,
      config,
      log,
      gpuModule: memoryModuleOf(options.process),
      isServed: true,
      shareOf: (source) => shares.get(source)?.(),
      onSession: (session) => {
        inbox.admit(session);
        inbound.set(session.peerName, session);
        session.closed.then(() => {
          if (inbound.get(session.peerName) === session) {
            inbound.delete(session.peerName);
          }
        }, ignore);
        options.onActivity();
      },
      onNotification: (notification) => {
        inbox.receive(notification);
        if (opened !== undefined) opened.hasNotifications = true;
      },
      onActivity: () => options.onActivity(),
    });
    try {
      listenAt(engine, options.config, options.index);
      opened = new ClientEngine(engine, inbox, inbound, shares);
      return opened;
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  /** What it offers to its peers, and why; what carried a transfer is in its receipt. */
  get provider(): 'tcpx' | 'tcp' {
    return tcpxOf(this.#engine) === undefined ? 'tcp' : 'tcpx';
  }

  /** Without a secret: nobody beyond loopback. */
  get isForLoopbackAlone(): boolean {
    return this.#engine.trust === 'loopback';
  }

  get providerReason(): string {
    return this.#engine.providerReason;
  }

  /** How much was done. */
  turn(): number {
    const count = this.#turns.turn();
    for (const peer of this.#peers) if (!peer.isIdle) peer.proceed();
    return count;
  }

  /** Whether the thread that gives turns moves small transfers in them. */
  get hasOwnLane(): boolean {
    return this.#turns.hasOwnLane;
  }

  /** Changes when something comes for it between turns. */
  get toldCount(): number {
    return this.#turns.toldCount;
  }

  /** Turns come one after the other from now on, and small transfers need no other thread. */
  hold(): void {
    this.#turns.hold();
  }

  /** No more. False where there is something to do: one more turn is due. */
  letGo(): boolean {
    return this.#turns.letGo();
  }

  /** Host memory of the client, by its own address. */
  registerCopied(addr: number, bytes: number, rights: RegionRights): Region {
    return this.#engine.register({ device: HOST_DEVICE, addr, bytes }, rights);
  }

  /** Memory that this process has mapped; `share` is asked where a plugin is to reach it. */
  registerMapped(source: RegionSource, rights: RegionRights, share: () => RegionShare): Region {
    this.#shares.set(source, share);
    return this.#engine.register(source, rights);
  }

  deregister(region: Region): Promise<void> {
    return this.#engine.deregister(region, DEREGISTER_WAIT_MS);
  }

  hasPeerConnected(name: string): boolean {
    return this.#inbound.get(name)?.isReady === true;
  }

  loadPeer(name: string, info: string): ServicePeer {
    checkAgentName(name, 'load a peer');
    const peer = new TcpxPeer(this.#engine, name, parseConnInfo(info));
    this.#peers.add(peer);
    return peer;
  }

  async dropPeer(peer: ServicePeer): Promise<void> {
    this.#peers.delete(peer);
    await peer.disconnect();
  }

  prepare(
    peer: ServicePeer,
    operation: 'write' | 'read',
    columns: BlockColumns,
    totalBytes: number,
  ): ServiceTransfer {
    return new TcpxXfer(this.#engine, peer, operation, columns, totalBytes);
  }

  drainNotifications(): NixlNotification[] {
    this.hasNotifications = false;
    return this.#inbox.drain();
  }

  close(): Promise<void> {
    return this.#engine.close();
  }
}

/** What peers are given; that host memory is copied, and by what device number, is ours alone. */
export function keyOf(region: Region): string {
  const { descriptor } = region;
  if (descriptor.device !== HOST_DEVICE) return formatRegion(descriptor);
  const { slot, generation, bytes, key } = descriptor;
  return formatRegion({ slot, generation, bytes, key });
}

export function parseKey(key: string, bytes: number): RegionDescriptor {
  return parseRegion(key, bytes);
}

function configOf(settings: string, base: Config): Config {
  const names: readonly string[] = SETTING_NAMES;
  const flags: Partial<Record<SettingName, string>> = {};
  for (const line of settings.split('\n').filter((one) => one.trim() !== '')) {
    const at = line.indexOf('=');
    const name = line.slice(0, Math.max(at, 0)).trim();
    if (!names.includes(name) || !CLIENT_SETTINGS.test(name)) {
      const meant = didYouMean(
        name,
        names.filter((one) => CLIENT_SETTINGS.test(one)),
      );
      throw new TcpxError(
        'ERR_CONFIG_VALUE',
        `attach: ${JSON.stringify(line)} is no setting that a client may choose${meant}`,
      );
    }
    flags[name as SettingName] = line.slice(at + 1).trim();
  }
  const byHand = base.effective.filter(({ name }) => isByHand(base, name));
  const options = Object.fromEntries(byHand.map(({ name }) => [name, base.values[name]]));
  return tunedServed(loadConfig({ flags, options }));
}

// Connection info tells the port, so by default, or with port 0, the kernel may choose it.
function portOf(config: Config, index: number): number {
  const first = isByHand(config, 'session.port') ? config.values['session.port'] : 0;
  if (first === 0) return 0;
  if (first + index <= PORT_MAX) return first + index;
  const reason = `session.port ${first} leaves ports for ${index} clients`;
  throw new TcpxError('ERR_CAP_QUOTA', `attach: ${reason}`);
}

function listenAt(engine: Engine, config: Config, index: number): void {
  const port = portOf(config, index);
  try {
    engine.listen({ port });
  } catch (error) {
    if (!(error instanceof TcpxError) || error.code !== 'ERR_SYS_ADDRESS_IN_USE') throw error;
    const range = `session.port ${config.values['session.port']}, and ${index} for its place`;
    const reason = `port ${port} (${range}) is taken by another program`;
    throw new TcpxError(error.code, `attach: ${reason}`, { cause: error });
  }
}

function ignore(): void {
  return;
}
