// The plugin of a machine: a process per NIC, started when first needed and again after its end,
// and the carriers of its sessions, which are the product's. It stands for the rails of a provider.

import type { TcpxError } from '../../../src/base/errors.js';
import type { Log } from '../../../src/base/log.js';
import type { SettingValues } from '../../../src/base/settings.js';
import type { Region } from '../../../src/memory/region.js';
import {
  copyMemory,
  createFixedMemory,
  destroyFixedMemory,
  type FixedMemory,
} from '../../../src/os/fixed-memory.js';
import {
  type ChannelListener,
  ChannelSet,
  type ChannelSource,
} from '../../../src/provider/tcpx/channel-set.js';
import { MatchedCarrier } from '../../../src/provider/tcpx/matched-carrier.js';
import type { MatchedHost } from '../../../src/provider/tcpx/matched-host.js';
import type { MatchedProvider } from '../../../src/provider/tcpx/matched-provider.js';
import { RailChannel } from '../../../src/provider/tcpx/rail-channel.js';
import { channelNics } from '../../../src/provider/tcpx/rail-plan.js';
import { DeviceSharer, type RegionShare } from '../../../src/provider/tcpx/region-share.js';
import { SharedAllocations } from '../../../src/provider/tcpx/shared-allocations.js';
import { type RegionMaps, SharedRegions } from '../../../src/provider/tcpx/shared-regions.js';
import { SimChannel } from './sim-channel.js';
import type { SimFabric } from './sim-fabric.js';
import { type MappedRange, SimProcess } from './sim-process.js';

export interface SimPluginParts {
  readonly machine: string;
  readonly nics: readonly string[];
  readonly fabric: SimFabric;
  readonly values: SettingValues;
  readonly log: Log;
  readonly nowUs: () => number;
  readonly after: (delayMs: number, act: () => void) => () => void;
  /** For the main thread, when it runs. */
  readonly post: (act: () => void) => void;
  /** Something that was awaited has come. */
  readonly onWake: () => void;
}

interface Shared {
  readonly share: RegionShare;
  readonly range: MappedRange;
}

const PLUGIN = {
  name: 'simulated',
  version: '3.1.9',
  tableVersion: 7,
  isEmulated: true,
  pointerType: 'host',
};

export class SimPlugin implements MatchedProvider, ChannelSource, RegionMaps {
  readonly regions: SharedRegions;
  readonly carriers: MatchedCarrier<unknown>[] = [];
  /** Called with each, for whoever changes them on purpose. */
  onHost: (host: MatchedHost) => MatchedHost = (host) => host;
  onCarrier: (carrier: MatchedCarrier<unknown>) => void = () => undefined;
  onChannel: (channel: RailChannel) => void = () => undefined;
  readonly #parts: SimPluginParts;
  readonly #starting = new Map<string, Promise<SimProcess>>();
  readonly #living = new Map<string, SimProcess>();
  readonly #ranges = new Map<RegionShare, MappedRange>();
  readonly #shared = new Map<number, Shared>();
  readonly #shadows: FixedMemory[] = [];
  /** Those that the application has not let go of. */
  readonly channels = new Set<SimChannel>();
  readonly #pending = new Map<SimProcess, { listener: ChannelListener; made?: SimChannel }[]>();
  #slots = 0;

  constructor(parts: SimPluginParts) {
    this.#parts = parts;
    this.regions = new SharedRegions(this, new DeviceSharer(), new SharedAllocations());
  }

  /** A simulation ends when it is over. */
  hold(): void {}

  carrier<S>(peer: string, host: MatchedHost): MatchedCarrier<S> {
    const { values, log, nics } = this.#parts;
    const channels = channelNics(nics, values['flow.channels']);
    const carrier = new MatchedCarrier<S>({
      peer,
      values,
      log,
      host: this.onHost(host),
      ownPlugin: () => PLUGIN,
      unpackedBy: () => 'cpu',
      nics: () => nics,
      channelCount: () => channels.length,
      openSet: (_, listener) => ChannelSet.open(this, channels, listener),
    });
    this.carriers.push(carrier);
    this.onCarrier(carrier);
    return carrier;
  }

  hasHappened(): boolean {
    return true;
  }

  wait(): void {
    throw new Error('nobody can block on virtual time');
  }

  get processes(): SimProcess[] {
    return [...this.#living.values()].filter(({ isGone }) => !isGone);
  }

  /** Makes a region known to the processes; a staged one by way of a shadow. */
  share(region: Region, isStaged: boolean): void {
    const { addr, bytes } = region;
    const shadow = isStaged ? createFixedMemory(bytes) : undefined;
    if (shadow !== undefined) this.#shadows.push(shadow);
    const range = { addr: shadow?.addr ?? addr, bytes };
    const copies = {
      fill: (offset: number, count: number) =>
        copyMemory(range.addr + offset, addr + offset, count),
      drain: (offset: number, count: number) =>
        copyMemory(addr + offset, range.addr + offset, count),
    };
    const share: RegionShare = {
      way: isStaged ? 'staged' : 'shared',
      shared: { way: 'shared', path: '', fileBytes: bytes, offset: 0, bytes },
      descriptors: [],
      ...(isStaged ? { shadow: copies } : {}),
      close: () => undefined,
    };
    this.#ranges.set(share, range);
    this.regions.add(region, share);
  }

  async addRegion(
    id: number,
    share: RegionShare,
    onMapped: (error: TcpxError | undefined) => void,
  ): Promise<void> {
    const range = this.#ranges.get(share);
    if (range === undefined) throw new Error('the memory of a share is known');
    this.#shared.set(id, { share, range });
    const hosts = [...this.#living.values()].filter(({ isAlive }) => isAlive);
    let left = hosts.length;
    let failure: TcpxError | undefined;
    const onSettled = (error: TcpxError | undefined): void => {
      failure ??= error;
      if (--left === 0) onMapped(failure);
    };
    if (left === 0) onMapped(undefined);
    const settled = await Promise.allSettled(
      hosts.map((host) => host.map(id, range, this.#timeoutMs, onSettled)),
    );
    const failed = settled.find((one) => one.status === 'rejected');
    if (failed === undefined) return;
    await this.removeRegion(id);
    throw failed.reason;
  }

  async removeRegion(id: number): Promise<void> {
    this.#shared.delete(id);
    const living = [...this.#living.values()].filter(({ isAlive }) => isAlive);
    const request = { op: 'unmap', region: id } as const;
    await Promise.allSettled(living.map((host) => host.request(request, this.#timeoutMs)));
  }

  async openChannel(nic: string, listener: ChannelListener): Promise<RailChannel> {
    const process = await this.#processOf(nic);
    const slot = this.#slots++;
    const pending = this.#pending.get(process) ?? [];
    this.#pending.set(process, pending);
    const place: { listener: ChannelListener; made?: SimChannel } = { listener };
    pending[slot] = place;
    const timeoutMs = this.#timeoutMs;
    const { handle } = await process.request({ op: 'listen', channel: slot, nic }, timeoutMs);
    const { made } = place;
    if (made === undefined || handle === undefined) throw new Error('the process has answered');
    this.channels.add(made);
    const channel = new RailChannel({
      ...{ host: process, slot, nic, handle, timeoutMs },
      checkPeer: () => undefined,
      free: () => {
        made.isFree = true;
        this.channels.delete(made);
        process.channels.delete(slot);
      },
    });
    this.onChannel(channel);
    return channel;
  }

  get #timeoutMs(): number {
    return this.#parts.values['tcpx.setupTimeoutMs'];
  }

  async #processOf(nic: string): Promise<SimProcess> {
    for (;;) {
      const current = this.#starting.get(nic);
      const known = await current?.catch(() => undefined);
      if (known?.isAlive === true) return known;
      if (this.#starting.get(nic) !== current) continue;
      const started = this.#start(nic);
      this.#starting.set(nic, started);
      return await started;
    }
  }

  async #start(nic: string): Promise<SimProcess> {
    const { fabric, machine, values, nowUs, after, post, onWake } = this.#parts;
    await new Promise<void>((resolve) => {
      const isUp = (): void => {
        onWake();
        resolve();
      };
      fabric.soon('start', () => post(isUp));
    });
    const process = new SimProcess({
      ...{ machine, nic, fabric, hangMs: values['tcpx.hangMs'], nowUs, after },
      listen: (made, slot) => this.#listen(made, slot),
    });
    this.#living.set(nic, process);
    const regions = [...this.#shared];
    const mapped = regions.map(([id, { range }]) => process.map(id, range, this.#timeoutMs));
    const failed = (await Promise.allSettled(mapped)).find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return process;
  }

  #listen(process: SimProcess, slot: number): SimChannel {
    const { fabric } = this.#parts;
    const place = this.#pending.get(process)?.[slot];
    if (place === undefined) throw new Error(`no channel ${slot} is expected`);
    const made = { slot, nic: process.nic, handle: fabric.handle() };
    place.made = new SimChannel(fabric, process, made, place.listener);
    return place.made;
  }

  /** What the processes have said; how much it was. */
  drain(): number {
    let count = 0;
    for (const process of [...this.#living.values()]) count += process.drain();
    if (count > 0) this.#parts.onWake();
    return count;
  }

  /** The machine is gone, and its processes with it. */
  vanish(): void {
    for (const process of this.#living.values()) process.vanish();
  }

  destroy(): void {
    this.vanish();
    for (const shadow of this.#shadows.splice(0)) destroyFixedMemory(shadow);
  }
}
