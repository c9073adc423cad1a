// What the backend contract suite needs from a harness, and the small steps its tests are made of:
// exchange connection info, describe memory, post, poll both ends until the end.

import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Backend, MetaDlist, RegionMd, TargetMd, XferHandle } from '../../src/nixl/backend.js';
import type { MemType, XferOp } from '../../src/nixl/memory-type.js';
import type { NixlNotification } from '../../src/nixl/notif-codec.js';
import { isNixlStatus, NixlStatus, nixlStatusName } from '../../src/nixl/status.js';

export interface ContractMemory {
  readonly memType: MemType;
  readonly addr: number;
  readonly len: number;
  readonly devId: number;
  write(offset: number, bytes: Uint8Array): void;
  read(offset: number, len: number): Uint8Array;
}

export interface ContractPeer {
  readonly agent: string;
  readonly backend: Backend;
  allocate(memType: MemType, byteCount: number): ContractMemory;
}

/** A fresh one per test. */
export interface ContractWorld {
  readonly memTypes: readonly MemType[];
  openPeer(agent: string): Promise<ContractPeer>;
  /** The peer goes away without a farewell. */
  killPeer(peer: ContractPeer): Promise<void>;
  close(): Promise<void>;
}

export interface BackendHarness {
  readonly name: string;
  /** Why the suite cannot run here; it is then reported as skipped. */
  readonly skipReason?: string;
  openWorld(): Promise<ContractWorld>;
}

export type ContractTest = (
  behaviour: string,
  body: (world: ContractWorld) => Promise<void>,
) => void;

export interface Region {
  readonly memory: ContractMemory;
  readonly md: RegionMd;
  readonly publicData: Uint8Array;
}

export interface Target {
  readonly memory: ContractMemory;
  readonly md: TargetMd;
}

/** `[region or target, offset, len]` */
export type Piece<T> = readonly [T, number, number];

const WAIT_MS = 20_000;

/** Bytes that depend on their position, so that a shifted copy is seen. */
export function pattern(byteCount: number, seed: number): Uint8Array {
  const bytes = new Uint8Array(byteCount);
  for (let i = 0; i < byteCount; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + seed) & 0xff;
  return bytes;
}

/** Each learns how to reach the other. */
export function introduce(a: ContractPeer, b: ContractPeer): void {
  const infoA = a.backend.getConnInfo?.();
  const infoB = b.backend.getConnInfo?.();
  assert.ok(infoA !== undefined && infoB !== undefined, 'a remote backend has connection info');
  a.backend.loadRemoteConnInfo?.(b.agent, infoB);
  b.backend.loadRemoteConnInfo?.(a.agent, infoA);
}

export async function register(
  peer: ContractPeer,
  memType: MemType,
  byteCount: number,
  seed: number,
): Promise<Region> {
  const memory = peer.allocate(memType, byteCount);
  memory.write(0, pattern(byteCount, seed));
  const desc = { addr: memory.addr, len: memory.len, devId: memory.devId };
  const md = await peer.backend.registerMem(desc, memType);
  return { memory, md, publicData: peer.backend.getPublicData?.(md) ?? new Uint8Array(0) };
}

/** The owner's region as the initiator sees it. */
export function loadTarget(initiator: ContractPeer, owner: ContractPeer, region: Region): Target {
  const { memory, publicData } = region;
  const desc = {
    addr: memory.addr,
    len: memory.len,
    devId: memory.devId,
    metaInfo: Uint8Array.from(publicData),
  };
  const md = initiator.backend.loadRemoteMD?.(desc, memory.memType, owner.agent);
  assert.ok(md !== undefined, 'loadRemoteMD gives an object');
  return { memory, md };
}

export function metaDlist<T extends Region | Target>(pieces: readonly Piece<T>[]): MetaDlist {
  const [first] = pieces;
  assert.ok(first !== undefined, 'a list has pieces');
  return {
    memType: first[0].memory.memType,
    count: pieces.length,
    addrs: Float64Array.from(pieces, ([at, offset]) => at.memory.addr + offset),
    lens: Float64Array.from(pieces, ([, , len]) => len),
    devIds: Float64Array.from(pieces, ([at]) => at.memory.devId),
    mds: pieces.map(([at]) => at.md),
  };
}

export function prepare(
  initiator: ContractPeer,
  op: XferOp,
  agent: string,
  local: readonly Piece<Region>[],
  remote: readonly Piece<Target>[],
): XferHandle {
  const lists = { local: metaDlist(local), remote: metaDlist(remote) };
  return initiator.backend.prepXfer({ op, agent, ...lists });
}

export function post(peer: ContractPeer, handle: XferHandle, notif?: Uint8Array): NixlStatus {
  return known(peer.backend.postXfer(handle, notif));
}

/** Polls the initiator, and the others' notifications as a target without threads needs. */
export async function untilDone(
  initiator: ContractPeer,
  handle: XferHandle,
  posted: NixlStatus,
  onNotif: (peer: ContractPeer, notification: NixlNotification) => void = () => undefined,
  others: readonly ContractPeer[] = [],
): Promise<NixlStatus> {
  let status = posted;
  for (const stop = Date.now() + WAIT_MS; status === NixlStatus.IN_PROG; ) {
    assert.ok(Date.now() < stop, 'the transfer ends');
    status = known(initiator.backend.checkXfer(handle));
    drain(others, onNotif);
    await nextTurn();
  }
  return status;
}

/** Waits for `count` notifications at `peer`, driving `others` along; then looks for too many. */
export async function notifications(
  peer: ContractPeer,
  count: number,
  others: readonly ContractPeer[] = [],
): Promise<NixlNotification[]> {
  const seen: NixlNotification[] = [];
  const collect = (from: ContractPeer, notification: NixlNotification) => {
    if (from === peer) seen.push(notification);
  };
  for (const stop = Date.now() + WAIT_MS; seen.length < count; ) {
    assert.ok(Date.now() < stop, `${seen.length} of ${count} notifications arrived`);
    drain([peer, ...others], collect);
    await nextTurn();
  }
  for (let turn = 0; turn < 20; turn++) {
    await nextTurn();
    drain([peer, ...others], collect);
  }
  assert.equal(seen.length, count, 'each notification arrives once');
  return seen;
}

export function drain(
  peers: readonly ContractPeer[],
  onNotif: (peer: ContractPeer, notification: NixlNotification) => void,
): void {
  for (const peer of peers) {
    for (const notification of peer.backend.getNotifs?.() ?? []) onNotif(peer, notification);
  }
}

function known(status: number): NixlStatus {
  assert.ok(isNixlStatus(status), `a backend returns NIXL’s numbers only, not ${status}`);
  return status;
}

export function assertStatus(actual: number, expected: NixlStatus): void {
  assert.equal(nixlStatusName(actual), nixlStatusName(expected));
}
