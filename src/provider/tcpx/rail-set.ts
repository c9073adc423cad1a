// The plugin processes of a provider, started when first needed and again after they have died,
// and the channels that live in them. Regions are mapped in every process.

import { processEnvironment } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import type { SettingValues } from '../../base/settings.js';
import { parseSocketBudget } from '../../flow/socket-budget.js';
import type { ChannelListener } from './channel-set.js';
import { isSameHostSwitched } from './host-environment.js';
import { HOST_CHANNELS_MAX } from './host-layout.js';
import type { HostFacts } from './host-message.js';
import { PluginHost } from './plugin-host.js';
import { overriddenVariables } from './plugin-variables.js';
import { RailChannel } from './rail-channel.js';
import {
  checkChunk,
  checkWindows,
  groupRails,
  namedNics,
  planRails,
  type Rail,
  type RailGroup,
} from './rail-plan.js';
import {
  hostEnvironment,
  hostOptions,
  type RailSetOptions,
  requireTraceFolder,
} from './rail-process.js';
import type { RegionShare } from './region-share.js';
import { handleAddress, readHostIdentity, requireOtherHost } from './same-host.js';
import { takeSockets } from './socket-registry.js';

interface Group {
  readonly plan: RailGroup;
  host: Promise<PluginHost> | undefined;
  /** The same, once it is there: what it is told at once keeps its order. */
  living: PluginHost | undefined;
  readonly listeners: Map<number, ChannelListener>;
}

export class RailSet {
  readonly #options: RailSetOptions;
  readonly #regions = new Map<number, RegionShare>();
  readonly #channels = new Set<RailChannel>();
  /** By NIC, of channels that are closed. */
  readonly #pastBytes = new Map<string, number>();
  #groups: Group[] = [];
  #rails: Rail[] = [];
  #starts = 0;
  #facts: HostFacts | undefined;
  #pluginVersion = '';
  #isHeld = true;

  constructor(options: RailSetOptions) {
    checkSockets(options.values);
    checkWindows(options.values);
    checkChunk(options.values);
    this.#options = options;
  }

  /** Finds the rails, asking the plugin where none are named, and starts their processes. */
  async open(): Promise<void> {
    const { values } = this.#options;
    this.#warnOfOverridden();
    requireTraceFolder(values['tcpx.traceDir']);
    this.#rails = this.#plan(namedNics(values['session.nics']));
    if (this.#rails.length === 0) this.#rails = this.#plan(await this.#askPlugin());
    const plans = groupRails(this.#rails, values['tcpx.processes']);
    this.#groups = plans.map((plan) => ({
      plan,
      host: undefined,
      living: undefined,
      listeners: new Map(),
    }));
    const hosts = await settleAll(this.#groups.map((group) => this.#hostOf(group)));
    this.#checkNics(hosts);
  }

  /** NICs and their GPUs. */
  get rails(): readonly Rail[] {
    return this.#rails;
  }

  get nics(): string[] {
    return this.#rails.map(({ nic }) => nic);
  }

  get facts(): HostFacts {
    if (this.#facts === undefined) throw new TcpxError('ERR_USAGE_STATE', 'rails are not open');
    return this.#facts;
  }

  /** As the plugin's log says it; empty when no line came. */
  get pluginVersion(): string {
    return this.#pluginVersion;
  }

  /** Processes started so far, restarts included. */
  get starts(): number {
    return this.#starts;
  }

  /** Whether this process stays for the sake of theirs. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const { living } of this.#groups) if (living?.isAlive === true) living.hold(isHeld);
  }

  /** Takes what the processes have said; how much it was. */
  drain(): number {
    let count = 0;
    for (const { living } of this.#groups) if (living?.isAlive === true) count += living.drain();
    return count;
  }

  /** Finds out about processes that have died or hang, for a thread that blocks. */
  checkBeats(): void {
    for (const { living } of this.#groups) if (living?.isAlive === true) living.checkBeat();
  }

  /** Where living processes write when they have news. */
  wakeFds(): number[] {
    return this.#groups.flatMap(({ living }) => (living?.isAlive === true ? [living.wakeFd] : []));
  }

  /** Process ids of the living hosts. */
  pids(): number[] {
    return this.#groups.flatMap(({ living }) => (living?.isAlive === true ? [living.pid] : []));
  }

  /** Pages of the emulator's bounce buffers, summed over processes. */
  async pages(): Promise<{ pages: number; freePages: number }> {
    const sum = { pages: 0, freePages: 0 };
    for (const group of this.#groups) {
      const host = await this.#hostOf(group);
      const { pages } = await host.request({ op: 'pages' }, this.#timeoutMs);
      sum.pages += pages?.pages ?? 0;
      sum.freePages += pages?.freePages ?? 0;
    }
    return sum;
  }

  /**
   * In every process; when one refuses, in none. `onMapped` is told as soon as all have answered.
   * Told at once where a process lives, so that no chunk that is put afterwards comes before it;
   * one that starts is told before it has channels.
   */
  async addRegion(
    id: number,
    share: RegionShare,
    onMapped: (error: TcpxError | undefined) => void = () => undefined,
  ): Promise<void> {
    this.#regions.set(id, share);
    const hosts = this.#groups.flatMap(({ living }) => (living?.isAlive === true ? [living] : []));
    let left = hosts.length;
    let failure: TcpxError | undefined;
    const onSettled = (error: TcpxError | undefined): void => {
      failure ??= error;
      if (--left === 0) onMapped(failure);
    };
    if (left === 0) onMapped(undefined);
    try {
      await settleAll(hosts.map((host) => host.map(id, share, this.#timeoutMs, onSettled)));
    } catch (error) {
      // Its number may belong to another region by now.
      if (this.#regions.get(id) === share) await this.removeRegion(id);
      throw error;
    }
  }

  async removeRegion(id: number): Promise<void> {
    this.#regions.delete(id);
    const living = this.#groups.flatMap((group) =>
      group.living?.isAlive === true ? group.living : [],
    );
    const request = { op: 'unmap', region: id } as const;
    // A process that dies meanwhile has it mapped no more.
    await Promise.allSettled(living.map((host) => host.request(request, this.#timeoutMs)));
  }

  /** Opens a channel up to its handle; the budget of the NIC is claimed first. */
  async openChannel(nic: string, listener: ChannelListener): Promise<RailChannel> {
    const group = this.#groups.find(({ plan }) => plan.nics.includes(nic));
    if (group === undefined) throw new TcpxError('ERR_CAP_NET_DEVICE', `no rail on ${nic}`);
    const { values } = this.#options;
    const sockets = values['tcpx.sockets'] * values['tcpx.threads'];
    const budget = parseSocketBudget(values['tcpx.socketBudget']);
    const host = await this.#hostOf(group);
    const claim = takeSockets(values['tcpx.stateDir'], nic, sockets, budget);
    const slot = freeSlot(group);
    group.listeners.set(slot, listener);
    host.forgetFallback(slot);
    const free = (channel?: RailChannel): void => {
      if (group.listeners.get(slot) === listener) group.listeners.delete(slot);
      claim.release();
      if (channel === undefined || !this.#channels.delete(channel)) return;
      this.#pastBytes.set(nic, (this.#pastBytes.get(nic) ?? 0) + channel.receivedBytes);
    };
    try {
      const timeoutMs = this.#timeoutMs;
      const { handle } = await host.request({ op: 'listen', channel: slot, nic }, timeoutMs);
      const channel: RailChannel = new RailChannel({
        ...{ host, slot, nic, handle: handle ?? '', timeoutMs },
        checkPeer: (peerHandle) => this.#checkPeer(nic, peerHandle),
        free: () => free(channel),
      });
      this.#channels.add(channel);
      return channel;
    } catch (error) {
      free();
      throw error;
    }
  }

  /** What came in through each NIC since the set was opened, channels that are closed included. */
  receivedBytes(): Map<string, number> {
    const bytes = new Map(this.nics.map((nic) => [nic, this.#pastBytes.get(nic) ?? 0]));
    for (const channel of this.#channels) {
      bytes.set(channel.nic, (bytes.get(channel.nic) ?? 0) + channel.receivedBytes);
    }
    return bytes;
  }

  async close(): Promise<void> {
    await Promise.all(
      this.#groups.map(async ({ host }) => {
        const living = await host?.catch(() => undefined);
        await living?.stop();
      }),
    );
  }

  get #timeoutMs(): number {
    return this.#options.values['tcpx.setupTimeoutMs'];
  }

  async #hostOf(group: Group): Promise<PluginHost> {
    for (;;) {
      const current = group.host;
      const known = await current?.catch(() => undefined);
      if (known?.isAlive === true) return known;
      // Somebody else may have started the next one while we looked.
      if (group.host !== current) continue;
      group.host = this.#startMapped(group);
      return await group.host;
    }
  }

  async #startMapped(group: Group): Promise<PluginHost> {
    const host = await this.#start(group.plan, group);
    this.#facts = host.facts;
    this.#pluginVersion = host.pluginVersion || this.#pluginVersion;
    const regions = [...this.#regions];
    group.living = host;
    host.hold(this.#isHeld);
    await settleAll(regions.map(([id, share]) => host.map(id, share, this.#timeoutMs)));
    return host;
  }

  #start(plan: RailGroup, group: Group | undefined): Promise<PluginHost> {
    const { values, log } = this.#options;
    this.#starts++;
    const tell = (use: (listener: ChannelListener) => void, slot?: number): void => {
      if (group === undefined) return;
      if (slot === undefined) for (const listener of [...group.listeners.values()]) use(listener);
      else if (group.listeners.has(slot)) use(group.listeners.get(slot) as ChannelListener);
    };
    return PluginHost.start({
      name: plan.name,
      options: hostOptions(this.#options, plan, this.#starts),
      environment: hostEnvironment(this.#options, plan),
      log,
      setupTimeoutMs: values['tcpx.setupTimeoutMs'],
      hangMs: values['tcpx.hangMs'],
      listener: {
        onPart: (part) => tell((listener) => listener.onPart(part), part.channel),
        onFallback: (slot, reason) =>
          log.warn('regions are sent from the ring', { nic: plan.name, channel: slot, reason }),
        onUnknownExtent: (slot) =>
          log.warn('the driver does not know the bounce buffer; set tcpx.bounceBytes', {
            nic: plan.name,
            channel: slot,
          }),
        onBroken: (slot, _, error) => tell((listener) => listener.onBroken(error), slot),
      },
      onDead: (error) => {
        log.error('plugin process died', {
          nic: plan.name,
          code: error.code,
          reason: error.message,
        });
        tell((listener) => listener.onBroken(error));
      },
    });
  }

  // Host receives do without device memory, and the emulator has a switch for tests.
  #checkPeer(nic: string, handle: string): void {
    const { values, isSameHostAllowed, environment } = this.#options;
    const inherited = { ...processEnvironment(), ...environment };
    const isAllowed = isSameHostSwitched(isSameHostAllowed, inherited);
    if (values['tcpx.hostRecv'] || (this.facts.isEmulated && isAllowed)) return;
    const address = handleAddress(handle);
    const peer = { bootId: '', addresses: address === '' ? [] : [address] };
    requireOtherHost(readHostIdentity(), peer, nic);
  }

  #warnOfOverridden(): void {
    const inherited = { ...processEnvironment(), ...this.#options.environment };
    for (const { name, was, now, why } of overriddenVariables(inherited)) {
      this.#options.log.warn('a variable is overridden for the plugin', { name, was, now, why });
    }
  }

  #plan(nics: readonly string[]): Rail[] {
    const { values, gpu, nicGpus } = this.#options;
    return planRails({ nics, gpu, nicGpus, railGpus: values['tcpx.railGpus'] });
  }

  async #askPlugin(): Promise<string[]> {
    const host = await this.#start({ name: '', gpu: 0, nics: [] }, undefined);
    const nics = host.facts.devices.map((device) => String(device['name']));
    await host.stop();
    return nics;
  }

  #checkNics(hosts: readonly PluginHost[]): void {
    const found = new Set(hosts.flatMap(({ facts }) => facts.devices.map((d) => d['name'])));
    const missing = this.nics.filter((nic) => !found.has(nic));
    if (missing.length === 0) return;
    throw new TcpxError(
      'ERR_CAP_NET_DEVICE',
      `interface ${missing.join(', ')}: not among the plugin’s devices`,
    );
  }
}

function freeSlot(group: Group): number {
  for (let slot = 0; slot < HOST_CHANNELS_MAX; slot++) {
    if (!group.listeners.has(slot)) return slot;
  }
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `${group.plan.name}: ${HOST_CHANNELS_MAX} channels are open in its plugin process`,
  );
}

function checkSockets(values: SettingValues): void {
  const sockets = values['tcpx.sockets'] * values['tcpx.threads'];
  if (sockets <= 8) return;
  throw new TcpxError(
    'ERR_CONFIG_CONFLICT',
    `tcpx.sockets × tcpx.threads: ${sockets} data sockets per channel, the plugin takes 8`,
  );
}

/** All of them, then the first failure: nothing is left running unseen. */
async function settleAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(promises);
  return settled.map((one) => {
    if (one.status === 'fulfilled') return one.value;
    throw one.reason;
  });
}
