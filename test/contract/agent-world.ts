// What the agents' suite needs from a harness, and the steps its tests are made of. Agents here
// are real ones; the harness says over which backend they run and how one of them dies.

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import type { Agent } from '../../src/nixl/agent.js';
import type { AgentOptions } from '../../src/nixl/agent-parts.js';
import { MemType, type XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus, nixlStatusName, nixlStatusOf } from '../../src/nixl/status.js';
import type { XferRequest } from '../../src/nixl/xfer-request.js';

export interface AgentMemory {
  readonly addr: number;
  readonly bytes: Uint8Array;
}

export interface AgentEnd {
  readonly agent: Agent;
  readonly memory: AgentMemory;
  allocate(byteCount: number): AgentMemory;
}

export interface AgentWorld {
  /** An agent with one backend of each of `types`, and one registered block. */
  open(name: string, byteCount: number, options?: AgentOptions): Promise<AgentEnd>;
  /** Goes away without a farewell, or as near to that as one process can come. */
  kill(end: AgentEnd): Promise<void>;
}

export interface AgentHarness {
  readonly name: string;
  /** The backend's type, and a second one of the same kind, for choosing. */
  readonly types: readonly [string, string];
  openWorld(t: TestContext, types: readonly string[]): AgentWorld;
}

export type AgentTest = (
  item: string,
  body: (world: AgentWorld, t: TestContext) => Promise<void>,
  types?: readonly string[],
) => void;

export interface AgentPair {
  readonly a: AgentEnd;
  readonly b: AgentEnd;
}

const WAIT_MS = 20_000;
export const S = NixlStatus;

export async function openPair(
  world: AgentWorld,
  byteCount: number,
  optionsOfA: AgentOptions = {},
  optionsOfB: AgentOptions = {},
): Promise<AgentPair> {
  const a = await world.open('a', byteCount, optionsOfA);
  const b = await world.open('b', byteCount, optionsOfB);
  a.agent.loadRemoteMD(b.agent.getLocalMD());
  b.agent.loadRemoteMD(a.agent.getLocalMD());
  return { a, b };
}

export function region({ addr, bytes }: AgentMemory, devId = 0) {
  return { memType: MemType.DRAM, descs: [{ addr, len: bytes.length, devId }] };
}

export function pieces({ addr }: AgentMemory, ...parts: (readonly [number, number])[]) {
  const descs = parts.map(([offset, len]) => [addr + offset, len, 0] as const);
  return { memType: MemType.DRAM, descs };
}

export function fill({ bytes }: AgentMemory, seed: number): void {
  for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 31 + (i >> 8) * 7 + seed) & 0xff;
}

/** The same range on both sides. */
export function request(
  { a, b }: AgentPair,
  op: XferOp,
  parts: (readonly [number, number])[],
  notif?: string,
): XferRequest {
  const options = notif === undefined ? {} : { notif };
  const [local, remote] = [pieces(a.memory, ...parts), pieces(b.memory, ...parts)];
  return a.agent.createXferReq(op, local, remote, 'b', options);
}

/** Polls until it has ended; a target without threads moves when `onTurn` polls it. */
export async function finish(
  agent: Agent,
  posted: XferRequest,
  first: NixlStatus,
  onTurn: () => void,
): Promise<NixlStatus> {
  let status = first;
  for (const stop = Date.now() + WAIT_MS; status === S.IN_PROG; ) {
    assert.ok(Date.now() < stop, 'the transfer ends');
    onTurn();
    await nextTurn();
    status = agent.getXferStatus(posted);
  }
  return status;
}

/** Posts, and waits for the end; notifications that b sees meanwhile are appended to `seen`. */
export async function run(
  { a, b }: AgentPair,
  posted: XferRequest,
  options?: { readonly notif?: string },
  seen: string[] = [],
): Promise<NixlStatus> {
  const first = a.agent.postXferReq(posted, options);
  return finish(a.agent, posted, first, () => seen.push(...textsFrom(b.agent, 'a')));
}

export function textsFrom(agent: Agent, sender: string): string[] {
  const messages = agent.getNotifs().get(sender) ?? [];
  return messages.map((message) => Buffer.from(message).toString());
}

/** Waits until `count` have come, then a little longer for one too many. */
export async function texts(
  { a, b }: AgentPair,
  count: number,
  seen: string[] = [],
): Promise<string[]> {
  for (const stop = Date.now() + WAIT_MS; seen.length < count; ) {
    assert.ok(Date.now() < stop, `${seen.length} of ${count} notifications arrived`);
    seen.push(...textsFrom(b.agent, 'a'));
    a.agent.getNotifs();
    await nextTurn();
  }
  for (let turn = 0; turn < 20; turn++) {
    seen.push(...textsFrom(b.agent, 'a'));
    a.agent.getNotifs();
    await nextTurn();
  }
  assert.equal(seen.length, count, 'each arrives once');
  return seen;
}

/** Keeps b's data moving while something of a is awaited. */
export async function driving<T>({ a, b }: AgentPair, promise: Promise<T>): Promise<T> {
  const timer = setInterval(() => {
    b.agent.getNotifs();
    a.agent.getNotifs();
  }, 1);
  try {
    return await promise;
  } finally {
    clearInterval(timer);
  }
}

export function thrown(body: () => unknown): string {
  try {
    body();
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return nixlStatusName(nixlStatusOf(error));
  }
  return nixlStatusName(S.SUCCESS);
}

export function same(actual: number, expected: NixlStatus, message?: string): void {
  assert.equal(nixlStatusName(actual), nixlStatusName(expected), message);
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
