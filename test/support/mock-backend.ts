// MOCK: a backend whose peers live in the same process. It really copies bytes, checks keys and
// bounds as a real one must, and can be slow, stubborn or lost on demand (see MockNetwork).

import { randomBytes } from 'node:crypto';
import { assert } from '../../src/base/assert.js';
import { TcpxError } from '../../src/base/errors.js';
import {
  BACKEND_API_VERSION,
  type Backend,
  type BackendInit,
  type BackendPlugin,
  type MetaDlist,
  type RegionMd,
  type TargetMd,
  type XferCost,
  type XferHandle,
  type XferPreparation,
} from '../../src/nixl/backend.js';
import type { BlobDesc } from '../../src/nixl/descriptors.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import type { NixlNotification } from '../../src/nixl/notif-codec.js';
import { NixlStatus } from '../../src/nixl/status.js';
import type { MockNetwork } from './mock-network.js';

const KEY_BYTES = 16;

interface MockRegion {
  readonly owner: string;
  readonly addr: number;
  readonly bytes: Uint8Array;
  readonly key: Buffer;
}

/** Target-side object: what the initiator knows of somebody's region. */
interface MockTarget {
  readonly owner: string;
  readonly key: Buffer;
}

interface MockTransfer {
  readonly preparation: XferPreparation;
  status: NixlStatus;
  pollsLeft: number;
  notif: Uint8Array | undefined;
  error: TcpxError | undefined;
  isFreed: boolean;
}

export function mockPlugin(network: MockNetwork): BackendPlugin {
  return {
    apiVersion: BACKEND_API_VERSION,
    name: 'MOCK',
    version: '1.0.0',
    defaultParams: { flavour: 'plain' },
    memTypes: [MemType.DRAM, MemType.VRAM],
    create: (init) => new MockBackend(network, init),
  };
}

export class MockBackend implements Backend {
  readonly supportsRemote = true;
  readonly supportsLocal = true;
  readonly supportsNotif = true;
  readonly #network: MockNetwork;
  readonly #agent: string;
  /** A restarted agent has another one, so old connection info no longer fits. */
  readonly #epoch = randomBytes(8).toString('hex');
  readonly #regions = new Map<string, MockRegion>();
  readonly #peers = new Map<string, string>();
  #inbox: NixlNotification[] = [];
  #wake: () => void = () => undefined;
  #isWaking = false;

  constructor(network: MockNetwork, init: BackendInit) {
    this.#network = network;
    this.#agent = init.localAgent;
    network.agents.set(init.localAgent, this);
  }

  getSupportedMems(): readonly MemType[] {
    return [MemType.DRAM, MemType.VRAM];
  }

  getConnInfo(): Uint8Array {
    this.#note('getConnInfo');
    return Buffer.from(`mock://${this.#epoch}`);
  }

  loadRemoteConnInfo(agent: string, connInfo: Uint8Array): void {
    this.#note('loadRemoteConnInfo');
    const match = /^mock:\/\/([0-9a-f]{16})$/.exec(Buffer.from(connInfo).toString('latin1'));
    if (match?.[1] === undefined) {
      throw new TcpxError('ERR_WIRE_METADATA', `connection info of ${agent} is not MOCK’s`);
    }
    this.#peers.set(agent, match[1]);
  }

  connect(agent: string): void {
    this.#note('connect');
    if (agent === this.#agent || this.#peerOf(agent) !== undefined) return;
    throw new TcpxError('ERR_PEER_UNREACHABLE', `connect to ${agent}: it is not there`);
  }

  disconnect(agent: string): void {
    this.#note('disconnect');
    this.#peers.delete(agent);
  }

  close(): void {
    this.#note('close');
    if (this.#network.agents.get(this.#agent) === this) this.#network.agents.delete(this.#agent);
  }

  registerMem(desc: BlobDesc): RegionMd {
    this.#note('registerMem');
    const bytes = this.#network.find(desc.addr, desc.len);
    if (bytes === undefined) {
      throw new TcpxError('ERR_USAGE_ARGUMENT', `register 0x${desc.addr.toString(16)}: no memory`);
    }
    const key = randomBytes(KEY_BYTES);
    const region: MockRegion = { owner: this.#agent, addr: desc.addr, bytes, key };
    this.#regions.set(key.toString('hex'), region);
    return region;
  }

  deregisterMem(md: RegionMd): void {
    this.#note('deregisterMem');
    this.#regions.delete((md as MockRegion).key.toString('hex'));
  }

  getPublicData(md: RegionMd): Uint8Array {
    return (md as MockRegion).key;
  }

  loadLocalMD(md: RegionMd): TargetMd {
    this.#note('loadLocalMD');
    return md;
  }

  loadRemoteMD(desc: BlobDesc, _memType: MemType, agent: string): TargetMd {
    this.#note('loadRemoteMD');
    const key = Buffer.from(desc.metaInfo ?? []);
    if (key.length !== KEY_BYTES) {
      throw new TcpxError('ERR_WIRE_METADATA', `region key of ${agent}: ${key.length} bytes`);
    }
    return { owner: agent, key } satisfies MockTarget;
  }

  unloadMD(): void {
    this.#note('unloadMD');
  }

  prepXfer(preparation: XferPreparation): XferHandle {
    this.#note('prepXfer');
    assert(preparation.local.count === preparation.remote.count, 'the lists pair up');
    const transfer: MockTransfer = {
      preparation,
      status: NixlStatus.ERR_NOT_POSTED,
      pollsLeft: 0,
      notif: undefined,
      error: undefined,
      isFreed: false,
    };
    return transfer;
  }

  postXfer(handle: XferHandle, notif: Uint8Array | undefined): NixlStatus {
    this.#note('postXfer');
    const transfer = handle as MockTransfer;
    assert(transfer.status !== NixlStatus.IN_PROG && !transfer.isFreed, 'the handle is idle');
    transfer.notif = notif;
    transfer.error = undefined;
    transfer.pollsLeft = this.#network.pollsPerTransfer;
    transfer.status = NixlStatus.IN_PROG;
    if (transfer.pollsLeft === 0) this.#finish(transfer);
    else this.#wakeSoon();
    return transfer.status;
  }

  checkXfer(handle: XferHandle): NixlStatus {
    this.#note('checkXfer');
    const transfer = handle as MockTransfer;
    if (transfer.status !== NixlStatus.IN_PROG) return transfer.status;
    if (--transfer.pollsLeft <= 0) this.#finish(transfer);
    else this.#wakeSoon();
    return transfer.status;
  }

  releaseReqH(handle: XferHandle): NixlStatus {
    this.#note('releaseReqH');
    const transfer = handle as MockTransfer;
    assert(!transfer.isFreed, 'a handle is freed once');
    if (transfer.status === NixlStatus.IN_PROG && this.#network.refusedReleases > 0) {
      this.#network.refusedReleases--;
      return NixlStatus.ERR_BACKEND;
    }
    transfer.isFreed = true;
    if (transfer.status === NixlStatus.IN_PROG) transfer.status = NixlStatus.ERR_CANCELED;
    return NixlStatus.SUCCESS;
  }

  cancelXfer(handle: XferHandle): void {
    this.#note('cancelXfer');
    const transfer = handle as MockTransfer;
    if (transfer.status !== NixlStatus.IN_PROG) return;
    transfer.status = NixlStatus.ERR_CANCELED;
    this.#wake();
  }

  getXferError(handle: XferHandle): TcpxError | undefined {
    return (handle as MockTransfer).error;
  }

  estimateXferCost(handle: XferHandle): XferCost {
    const { lens } = (handle as MockTransfer).preparation.local;
    const bytes = lens.reduce((sum, len) => sum + len, 0);
    return { durationUs: 1 + bytes / 1000, errorMarginUs: 1, method: 'analytical' };
  }

  getNotifs(): NixlNotification[] {
    this.#note('getNotifs');
    const arrived = this.#inbox;
    this.#inbox = [];
    return arrived;
  }

  genNotif(agent: string, message: Uint8Array): void {
    this.#note('genNotif');
    const peer = agent === this.#agent ? this : this.#peerOf(agent);
    if (peer === undefined) throw new TcpxError('ERR_PEER_LOST', `notify ${agent}: it is gone`);
    peer.#receive({ agent: this.#agent, message: Uint8Array.from(message) });
  }

  onActivity(wake: () => void): void {
    this.#wake = wake;
  }

  /** Transfers move on only when looked at, so whoever waits is made to look. */
  #wakeSoon(): void {
    if (this.#isWaking) return;
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      this.#wake();
    });
  }

  #receive(notification: NixlNotification): void {
    this.#inbox.push(notification);
    this.#wake();
  }

  #peerOf(agent: string): MockBackend | undefined {
    const peer = this.#network.agents.get(agent);
    if (!(peer instanceof MockBackend)) return undefined;
    return this.#peers.get(agent) === peer.#epoch ? peer : undefined;
  }

  #finish(transfer: MockTransfer): void {
    const { agent } = transfer.preparation;
    const peer = agent === this.#agent ? this : this.#peerOf(agent);
    if (peer === undefined) {
      transfer.status = NixlStatus.ERR_REMOTE_DISCONNECT;
      transfer.error = new TcpxError('ERR_PEER_LOST', `transfer with ${agent}: it is gone`);
    } else {
      this.#move(transfer, peer);
    }
    this.#wake();
  }

  #move(transfer: MockTransfer, peer: MockBackend): void {
    const { op, local, remote, agent } = transfer.preparation;
    for (let index = 0; index < local.count; index++) {
      const here = localBytes(local, index);
      const there = peer.#targetBytes(remote, index);
      if (there === undefined) {
        transfer.status = NixlStatus.ERR_BACKEND;
        transfer.error = new TcpxError('ERR_PEER_STALE_REGION', `${agent} has no such region`);
        return;
      }
      if (op === XferOp.WRITE) there.set(here);
      else here.set(there);
    }
    transfer.status = NixlStatus.SUCCESS;
    const message = transfer.notif;
    if (message === undefined) return;
    peer.#receive({ agent: this.#agent, message: Uint8Array.from(message) });
  }

  /** Asked by the initiator: key and bounds are the owner's to judge. */
  #targetBytes(remote: MetaDlist, index: number): Uint8Array | undefined {
    const target = remote.mds[index] as MockTarget;
    const region = this.#regions.get(target.key.toString('hex'));
    return region === undefined ? undefined : rangeOf(region, remote, index);
  }

  #note(method: string): void {
    this.#network.note(this.#agent, method);
  }
}

function localBytes(local: MetaDlist, index: number): Uint8Array {
  const bytes = rangeOf(local.mds[index] as MockRegion, local, index);
  assert(bytes !== undefined, 'the agent checked that the region covers the descriptor');
  return bytes;
}

function rangeOf(region: MockRegion, list: MetaDlist, index: number): Uint8Array | undefined {
  const offset = (list.addrs[index] ?? 0) - region.addr;
  const len = list.lens[index] ?? 0;
  if (offset < 0 || offset + len > region.bytes.length) return undefined;
  return region.bytes.subarray(offset, offset + len);
}
