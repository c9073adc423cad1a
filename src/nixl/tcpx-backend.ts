// TCPX: the engine behind the backend contract. It listens from its creation on, connects to a
// peer at first need, and keeps one session to each; sessions that peers make are theirs alone,
// so that one end's farewell never looks like the loss of the other.

import { systemClock } from '../base/clock.js';
import { loadConfig, processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { type ConnInfo, formatConnInfo, parseConnInfo } from '../engine/conn-info.js';
import { Engine } from '../engine/engine.js';
import { formatRegion, parseRegion } from '../engine/region-text.js';
import type { RegionSource } from '../memory/region.js';
import type { PageKind, RegionMemory } from '../os/region-memory.js';
import {
  BACKEND_API_VERSION,
  type Backend,
  type BackendInit,
  type BackendPlugin,
  type RegionMd,
  type TargetMd,
  type XferCost,
  type XferHandle,
  type XferPreparation,
} from './backend.js';
import type { BlobDesc } from './descriptors.js';
import { LoopWatch } from './loop-watch.js';
import { MemType, memTypeName, XferOp } from './memory-type.js';
import type { NixlNotification } from './notif-codec.js';
import { NixlStatus } from './status.js';
import { columnsOf, TcpxRegionMd, TcpxTargetMd } from './tcpx-columns.js';
import { TcpxInbox } from './tcpx-inbox.js';
import { settingsOf } from './tcpx-params.js';
import { TcpxPeer } from './tcpx-peer.js';
import { TcpxXfer } from './tcpx-xfer.js';

const MEM_TYPES: readonly MemType[] = [MemType.DRAM, MemType.VRAM];

/** The backend of this package, under the name that NIXL knows. */
export const tcpxPlugin: BackendPlugin = {
  apiVersion: BACKEND_API_VERSION,
  name: 'TCPX',
  version: '1.0.0',
  defaultParams: {},
  memTypes: MEM_TYPES,
  create: (init) => TcpxBackend.open(init),
};

/** What stands in for CUDA, for tests. */
export interface GpuChoice {
  readonly gpuModule?: URL;
}

export class TcpxBackend implements Backend {
  readonly supportsRemote = true;
  readonly supportsLocal = true;
  readonly supportsNotif = true;
  /** Absent where callers drive: there, whoever waits must poll, and moves data by it. */
  readonly onActivity?: (wake: () => void) => void;
  readonly engine: Engine;
  readonly #agent: string;
  readonly #info: ConnInfo;
  readonly #inbox: TcpxInbox;
  readonly #relay: ActivityRelay;
  readonly #peers = new Map<string, TcpxPeer>();
  readonly #loop = new LoopWatch(systemClock);
  #isWarned = false;

  private constructor(agent: string, engine: Engine, inbox: TcpxInbox, relay: ActivityRelay) {
    this.#agent = agent;
    this.engine = engine;
    this.#inbox = inbox;
    this.#info = engine.connInfo();
    this.#relay = relay;
    relay.pump = () => this.#pump();
    if (engine.config.values['lane.progress'] === 'lanes') {
      this.onActivity = (wake) => {
        relay.wake = wake;
      };
    }
  }

  static async open(init: BackendInit, gpus: GpuChoice = {}): Promise<TcpxBackend> {
    const relay = new ActivityRelay();
    const config = loadConfig({
      options: settingsOf(init),
      environment: processEnvironment(),
    });
    const { values } = config;
    const inbox = new TcpxInbox(init.log, {
      bytesMax: values['nixl.inboxBytesMax'],
      peerBytesMax: values['nixl.inboxPeerBytesMax'],
      partialsMax: values['nixl.partialsMax'],
      earlyMax: values['nixl.earlyMax'],
    });
    const engine = await Engine.open({
      name: init.localAgent,
      config,
      log: init.log,
      onSession: (session) => inbox.admit(session),
      onNotification: (notification) => inbox.receive(notification),
      onActivity: relay.onActivity,
      ...gpus,
    });
    try {
      // Metadata tells the port, so by default the kernel may choose it.
      const port = config.effective.find((setting) => setting.name === 'session.port');
      engine.listen(port?.origin === 'default' ? { port: 0 } : {});
      return new TcpxBackend(init.localAgent, engine, inbox, relay);
    } catch (error) {
      await engine.close();
      throw error;
    }
  }

  getSupportedMems(): readonly MemType[] {
    return MEM_TYPES;
  }

  getConnInfo(): Uint8Array {
    return Buffer.from(formatConnInfo(this.#info));
  }

  loadRemoteConnInfo(agent: string, connInfo: Uint8Array): void {
    const info = parseConnInfo(Buffer.from(connInfo).toString('latin1'));
    this.#peers.set(agent, new TcpxPeer(this.engine, agent, info));
  }

  /** To itself the connection is made by the first transfer: most agents make none. */
  async connect(agent: string): Promise<void> {
    if (agent !== this.#agent) await this.#peerOf(agent, 'connect').connect();
  }

  async disconnect(agent: string): Promise<void> {
    const peer = this.#peers.get(agent);
    this.#peers.delete(agent);
    await peer?.disconnect();
  }

  async close(): Promise<void> {
    await this.engine.close();
  }

  /** Where a plugin is open, it reaches this host memory and no other. */
  allocateMem(byteCount: number, pages: PageKind = 'auto'): RegionMemory {
    return this.engine.allocate(byteCount, pages);
  }

  registerMem(desc: BlobDesc, memType: MemType): RegionMd {
    const region = this.engine.register(rangeOf(desc, memType));
    return new TcpxRegionMd(region, desc);
  }

  async deregisterMem(md: RegionMd): Promise<void> {
    await this.engine.deregister(own(md).region);
  }

  getPublicData(md: RegionMd): Uint8Array {
    return Buffer.from(formatRegion(own(md).region.descriptor));
  }

  loadLocalMD(md: RegionMd): TargetMd {
    const { region } = own(md);
    return new TcpxTargetMd(this.#agent, region.addr, region.descriptor);
  }

  loadRemoteMD(desc: BlobDesc, memType: MemType, agent: string): TargetMd {
    if (!MEM_TYPES.includes(memType)) throw notMoved(memType, `loadRemoteMD of ${agent}`);
    const text = Buffer.from(desc.metaInfo ?? []).toString('latin1');
    return new TcpxTargetMd(agent, desc.addr, parseRegion(text, desc.len));
  }

  /** Transfers keep the plain descriptors that they need. */
  unloadMD(): void {
    return;
  }

  prepXfer(preparation: XferPreparation): XferHandle {
    const { op, local, remote, agent } = preparation;
    const columns = columnsOf(local, remote, agent);
    const peer = this.#peerOf(agent, 'prepare a transfer');
    let totalBytes = 0;
    for (const bytes of local.lens) totalBytes += bytes;
    const operation = op === XferOp.WRITE ? 'write' : 'read';
    return new TcpxXfer(this.engine, peer, operation, columns, totalBytes);
  }

  postXfer(handle: XferHandle, notif: Uint8Array | undefined): NixlStatus {
    return (handle as TcpxXfer).post(notif);
  }

  checkXfer(handle: XferHandle): NixlStatus {
    return (handle as TcpxXfer).check();
  }

  releaseReqH(handle: XferHandle): NixlStatus {
    const isFreed = (handle as TcpxXfer).release();
    return isFreed ? NixlStatus.SUCCESS : NixlStatus.ERR_REPOST_ACTIVE;
  }

  cancelXfer(handle: XferHandle): void {
    (handle as TcpxXfer).cancel();
  }

  getXferError(handle: XferHandle): TcpxError | undefined {
    return (handle as TcpxXfer).error;
  }

  eventLoopNeed(handle: XferHandle): string | undefined {
    return (handle as TcpxXfer).eventLoopNeed();
  }

  estimateXferCost(handle: XferHandle): XferCost {
    const { peer, totalBytes } = handle as TcpxXfer;
    return peer.cost.estimate(totalBytes);
  }

  getNotifs(): NixlNotification[] {
    this.engine.poll();
    this.#pump();
    if (this.#loop.isStandingStill()) this.#warnOfStandstill();
    return this.#inbox.drain();
  }

  // Not an error: peers that are connected are heard all the same.
  #warnOfStandstill(): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    this.engine.log.warn('polled without a turn of the event loop', {
      call: 'getNotifs',
      reason: 'no peer can connect meanwhile: await agent.waitNotifs, or await between two calls',
    });
  }

  genNotif(agent: string, message: Uint8Array): void {
    if (agent === this.#agent) {
      this.#inbox.deliver(agent, Uint8Array.from(message));
      this.#relay.wake();
      return;
    }
    this.#peerOf(agent, 'genNotif').send(message);
  }

  #pump(): void {
    for (const peer of this.#peers.values()) if (!peer.isIdle) peer.proceed();
  }

  #peerOf(agent: string, attempted: string): TcpxPeer {
    const known = this.#peers.get(agent);
    if (known !== undefined) return known;
    if (agent !== this.#agent) {
      throw new TcpxError('ERR_USAGE_NOT_FOUND', `${attempted}: agent ${agent} is unknown`);
    }
    const self = new TcpxPeer(this.engine, agent, this.#info);
    this.#peers.set(agent, self);
    return self;
  }
}

/** Set up before the backend exists, because the engine wants to know whom to tell. */
class ActivityRelay {
  pump: () => void = () => undefined;
  wake: () => void = () => undefined;

  readonly onActivity = (): void => {
    this.pump();
    this.wake();
  };
}

function own(md: RegionMd): TcpxRegionMd {
  if (md instanceof TcpxRegionMd) return md;
  throw new TcpxError('ERR_USAGE_ARGUMENT', 'the region is not of this backend');
}

/** VRAM descriptors name the GPU as device, by its CUDA ordinal. */
function rangeOf(desc: BlobDesc, memType: MemType): RegionSource {
  const range = { addr: desc.addr, bytes: desc.len };
  if (memType === MemType.DRAM) return range;
  if (memType === MemType.VRAM) return { ...range, device: desc.devId };
  throw notMoved(memType, 'registerMem');
}

function notMoved(memType: MemType, attempted: string): TcpxError {
  return new TcpxError(
    'ERR_USAGE_NOT_SUPPORTED',
    `${attempted}: TCPX moves DRAM_SEG and VRAM_SEG, not ${memTypeName(memType)}`,
  );
}
