// What a matched transfer is told, and when, on two simulated machines: cases that seeds have
// found.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TcpxError } from '../../src/base/errors.js';
import type { PostOptions, Session } from '../../src/engine/session.js';
import type { Transfer } from '../../src/engine/transfer.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import { type Direction, RECEIVE, SEND } from '../../src/provider/tcpx/host-layout.js';
import { decodeMatchHead, MatchKind } from '../../src/wire/match-frame.js';
import type { Machine } from '../support/sim/sim-job.js';
import { CELL_BYTES } from '../support/sim/sim-memory.js';
import { PLUGIN_LIMITS } from '../support/sim/sim-node.js';
import { MIN_RATE, planOf, type SimPlan, withPlugin } from '../support/sim/sim-plan.js';
import { SimWorld } from '../support/sim/sim-world.js';

const SEED = 5;
const CELLS = 4;
const READY_MS = 10_000;
const END_MS = 10_000;
/** A process that hangs is ended later than this. */
const HANG_MS = 400;
/** tcpx.deadlineMs */
const OWNER_MS = 4000;

interface Pair {
  readonly world: SimWorld;
  readonly own: Machine;
  readonly peer: Machine;
  readonly session: Session;
  readonly write: (changes?: Partial<RegionDescriptor>) => Transfer;
  /** From and into memory that `write` leaves alone. */
  readonly move: (operation: 'write' | 'read', options: PostOptions) => Transfer;
  readonly ended: (transfer: Transfer) => Promise<void>;
  readonly pass: (ms: number) => Promise<void>;
}

type Arrange = (own: Machine, peer: Machine) => void;

async function openPair(arrange: Arrange = () => undefined, isPaced = false): Promise<Pair> {
  const { plugin, ...rest } = withPlugin(planOf(SEED));
  assert.ok(plugin !== undefined);
  const delays = { command: 50, post: 50, wire: 50, unpack: 50, start: 100 };
  const plan: SimPlan = {
    ...{ ...rest, machines: 2, isCalm: true, faults: 0, delayUs: 50, jitterUs: 0 },
    // Programs that wait for the ends here do so by the event loop, which the ends need.
    blockChance: 0,
    limits: { ...rest.limits, minRate: MIN_RATE },
    plugin: { ...plugin, isFirm: true, isPaced, stagedChance: 0, delays, deadlineMs: OWNER_MS },
  };
  const world = new SimWorld(plan, undefined, undefined);
  const [own, peer] = world.machines;
  assert.ok(own !== undefined && peer !== undefined);
  arrange(own, peer);
  world.connect(own, peer.name);
  const isReady = (): boolean =>
    world.links.some(({ pair }) => pair.atServer.matched?.epochs.state === 'ready');
  await world.until(isReady, READY_MS, () => 'the channels are ready');
  const session = world.links[0]?.pair.atClient;
  assert.ok(session !== undefined);
  const write = (changes: Partial<RegionDescriptor> = {}): Transfer => {
    const local = own.memory.region(0);
    const remote = { ...peer.memory.region(0).descriptor, ...changes };
    const bytes = CELLS * CELL_BYTES;
    return session.write([{ local, localOffset: 0, remote, remoteOffset: 0, bytes }]);
  };
  const move = (operation: 'write' | 'read', options: PostOptions): Transfer => {
    const remote = peer.memory.region(1).descriptor;
    const bytes = CELLS * CELL_BYTES;
    const place = { local: own.memory.region(1), localOffset: 0, remote, remoteOffset: 0 };
    return session[operation]([{ ...place, bytes }], options);
  };
  const ended = (transfer: Transfer): Promise<void> => {
    transfer.done.catch(() => undefined);
    return world.until(
      () => transfer.status !== 'active',
      END_MS,
      () => 'it ends',
    );
  };
  const pass = async (ms: number): Promise<void> => {
    const endUs = world.time.nowUs + ms * 1000;
    await world.until(
      () => world.time.nowUs >= endUs,
      ms + END_MS,
      () => 'time passes',
    );
  };
  return { world, own, peer, session: session.face, write, move, ended, pass };
}

/** Nothing that is sent arrives, and no plugin says a word. */
function killComms({ node }: Machine): void {
  for (const { comms } of node.plugin?.channels ?? []) for (const comm of comms) comm.die();
}

test('matched: a cancel is told to its owner, not to others of the epoch', async () => {
  const { world, own, write, ended } = await openPair();
  const [cancelled, other] = [write(), write()];
  killComms(own);
  cancelled.cancel();
  await ended(cancelled);
  await ended(other);
  assert.equal(cancelled.error?.code, 'ERR_XFER_CANCELLED');
  assert.equal(other.error?.code, 'ERR_XFER_FAILED');
  assert.equal(other.error.facts['isFenced'], true);
  await world.destroy();
});

test('matched: a cancel while the epoch is taken down waits for its fence', async () => {
  const { world, own, peer, write, ended, pass } = await openPair();
  const transfer = write();
  await pass(0.1);
  const [process] = peer.node.plugin?.processes ?? [];
  assert.ok(process !== undefined);
  // The peer cannot close its channels yet.
  process.pause(world.time.nowUs + HANG_MS * 1000);
  const { matched } = own.node.sessions.list()[0] ?? {};
  own.node.plugin?.processes[0]?.exit();
  await world.until(
    () => matched?.epochs.state === 'down',
    END_MS,
    () => 'the epoch goes down',
  );
  transfer.cancel();
  assert.equal(transfer.status, 'active', 'its bytes may still land');
  await ended(transfer);
  assert.equal(transfer.error?.code, 'ERR_XFER_CANCELLED');
  assert.equal(transfer.error.facts['isFenced'], true);
  assert.equal(peer.node.plugin?.channels.size, 0, 'nothing of the epoch is open there');
  await world.destroy();
});

test('matched: a set-up that fails ends nothing of the epoch before', async () => {
  const { world, own, peer, write, ended, pass } = await openPair();
  const transfer = write();
  await pass(0.1);
  const [process] = peer.node.plugin?.processes ?? [];
  process?.pause(world.time.nowUs + HANG_MS * 1000);
  const { matched } = own.node.sessions.list()[0] ?? {};
  assert.ok(matched !== undefined);
  const { epochs } = matched;
  const fault = new TcpxError('ERR_NCCLNET_CALL', 'a fault');
  epochs.takeDown(fault);
  void epochs.ready().catch(() => undefined);
  const isJoining = (): boolean => epochs.state === 'joining';
  await world.until(isJoining, END_MS, () => 'the next one is being set up');
  epochs.takeDown(fault);
  await pass(HANG_MS / 4);
  assert.equal(transfer.status, 'active', 'its bytes may still land');
  await ended(transfer);
  assert.equal(transfer.error?.facts['isFenced'], true);
  await world.destroy();
});

test('matched: when the peer takes an epoch down, its fence is waited for', async () => {
  const { world, peer, write, ended, pass } = await openPair();
  const transfer = write();
  await pass(0.1);
  const [dead, slow] = peer.node.plugin?.processes ?? [];
  dead?.exit();
  slow?.pause(world.time.nowUs + HANG_MS * 1000);
  await ended(transfer);
  assert.equal(transfer.error?.code, 'ERR_XFER_FAILED');
  assert.equal(transfer.error.facts['peerCode'], 'ERR_NCCLNET_EXIT');
  assert.equal(transfer.error.facts['isFenced'], true);
  assert.equal(peer.node.plugin?.channels.size, 0, 'nothing of the epoch is open there');
  await world.destroy();
});

/** A peer that takes the first epoch and no later one. */
function takesOneEpoch({ node }: Machine): void {
  assert.ok(node.plugin !== undefined);
  node.plugin.onCarrier = ({ epochs }) => {
    const makeRoom = epochs.makeRoom.bind(epochs);
    epochs.makeRoom = (epoch) => (epoch === 1 ? makeRoom(epoch) : new Promise(() => undefined));
  };
}

test('matched: past its deadline, memory is free when the peer is fenced', async () => {
  const { world, own, peer, move, pass } = await openPair();
  const processes = peer.node.plugin?.processes ?? [];
  // They still write what they have: the peer cannot confirm before they go on.
  for (const process of processes) process.pause(world.time.nowUs + HANG_MS * 1000);
  const transfer = move('write', { deadlineMs: 20 });
  transfer.done.catch(() => undefined);
  transfer.cancel();
  await pass(25);
  assert.equal(transfer.error?.code, 'ERR_XFER_DEADLINE', 'a cancel would be a fence');
  // The connection on which the peer would say that it is fenced.
  await world.until(
    () => own.node.sessions.list()[0]?.matched?.epochs.state === 'down',
    END_MS,
    () => 'the epoch goes down',
  );
  for (const { port } of own.node.matchSockets) port.connection.endBoth();
  assert.equal(transfer.isReleased, false, 'nobody has confirmed anything');
  await world.until(
    () => transfer.isReleased,
    END_MS,
    () => 'a later epoch confirms it',
  );
  assert.equal(own.node.sessions.list()[0]?.isReady, true, 'the session goes on');
  assert.ok((own.node.sessions.list()[0]?.matched?.epochs.epoch ?? 0) > 1);
  await world.destroy();
});

test('matched: a peer that never confirms loses its session; memory is free then', async () => {
  const { world, own, move, ended } = await openPair((_, peer) => takesOneEpoch(peer));
  const transfer = move('write', { deadlineMs: 3_600_000 });
  killComms(own);
  // Nor does it hear or say anything about this one.
  for (const { port } of own.node.matchSockets) port.connection.cutSilently();
  transfer.cancel();
  const startUs = world.time.nowUs;
  await ended(transfer);
  assert.equal(transfer.error?.code, 'ERR_XFER_FAILED', 'a cancel would be a fence');
  assert.match(transfer.error.message, /ERR_PEER_TIMEOUT: .* does not confirm/);
  const limitMs = 200 + 2000 + world.plan.limits.reconnectMs + 2 * PLUGIN_LIMITS['tcpx.hangMs'];
  assert.ok(world.time.nowUs - startUs < (limitMs + 500) * 1000, 'within the stated bound');
  await world.destroy();
});

test('matched: a client that knows nothing of the end is asked for the next epoch', async () => {
  const { world, own, peer, ended } = await openPair();
  const [atServer] = peer.node.sessions.list();
  const epochs = own.node.sessions.list()[0]?.matched?.epochs;
  assert.ok(atServer?.matched !== undefined && epochs !== undefined);
  for (const { port } of peer.node.matchSockets) port.connection.cutSilently();
  atServer.matched.epochs.takeDown(new TcpxError('ERR_NCCLNET_EXIT', 'a process is gone'));
  assert.equal(epochs.state, 'ready', 'the client hears nothing of it');
  const startUs = world.time.nowUs;
  const remote = own.memory.region(1).descriptor;
  const place = { local: peer.memory.region(1), localOffset: 0, remote, remoteOffset: 0 };
  const transfer = atServer.write([{ ...place, bytes: CELL_BYTES }]);
  await ended(transfer);
  assert.equal(transfer.error, undefined);
  assert.ok(world.time.nowUs - startUs < 500_000, 'before a kernel finds the connection dead');
  await world.destroy();
});

test('matched: who waits for channels is told that they were lost, not the peer', async () => {
  const { world, own, write, ended } = await openPair();
  const first = write();
  killComms(own);
  own.node.plugin?.processes[0]?.exit();
  await ended(first);
  const second = write();
  await world.until(
    () => [...own.node.matchSockets].length > 1,
    END_MS,
    () => 'the next epoch is being set up',
  );
  for (const { port } of own.node.matchSockets) port.connection.endBoth();
  await ended(second);
  assert.equal(second.error?.code, 'ERR_XFER_FAILED');
  await world.destroy();
});

test('matched: a post whose epoch goes down before its start fails with it', async () => {
  const { world, own, write, ended } = await openPair();
  const { matched } = own.node.sessions.list()[0] ?? {};
  assert.ok(matched !== undefined);
  const error = new TcpxError('ERR_PEER_LOST', 'channels are lost');
  matched.epochs.takeDown(error);
  // Told before the transfer is, as whoever posted earlier.
  matched.ready().then(
    () => matched.epochs.takeDown(error),
    () => undefined,
  );
  const transfer = write();
  await ended(transfer);
  assert.equal(transfer.error?.code, 'ERR_XFER_FAILED', transfer.error?.message);
  await world.destroy();
});

test('matched: a refused WRITE ends when the plugin has read its chunks, not before', async () => {
  const { world, own, write, ended, pass } = await openPair();
  const processes = own.node.plugin?.processes ?? [];
  for (const process of processes) process.pause(world.time.nowUs + HANG_MS * 1000);
  const transfer = write({ key: 'ab'.repeat(16) });
  await pass(HANG_MS / 2);
  assert.equal(transfer.status, 'active', 'its memory is still read');
  await ended(transfer);
  assert.equal(transfer.error?.code, 'ERR_PEER_KEY');
  assert.equal(own.node.sessions.list()[0]?.matched?.epochs.state, 'ready', 'the epoch goes on');
  await world.destroy();
});

test('matched: posts on a session whose peer has crashed reject and name the loss', async () => {
  const { world, own, peer, session, move, ended } = await openPair();
  const place = { localOffset: 0, remote: peer.memory.region(0).descriptor, remoteOffset: 0 };
  const block = { ...place, local: own.memory.region(0), bytes: CELL_BYTES };
  const request = session.prepare('read', [block]);
  world.crash(peer, false);
  await world.until(
    () => session.state === 'closed',
    END_MS,
    () => `the session ends: ${session.state}`,
  );
  const late = [move('write', {}), move('read', {}), request.post(), session.notify('late')];
  for (const transfer of late) {
    await ended(transfer);
    assert.equal(transfer.error?.code, 'ERR_XFER_FAILED');
    assert.equal(transfer.error.cause, session.error);
    assert.equal(session.error?.code, 'ERR_PEER_LOST');
  }
  await world.destroy();
});

/** What a peer's flight may take, with its bytes at the least rate. */
const LIMIT_MS = OWNER_MS + (CELLS * CELL_BYTES * 1000) / MIN_RATE;
/** What the fence takes behind it: the peer's word, or a process that hangs. */
const FENCE_MS = 2500;

/** A peer that says what it will do and keeps the chunks of one direction from its plugin. */
function withhold({ node }: Machine, direction: Direction): void {
  assert.ok(node.plugin !== undefined);
  node.plugin.onChannel = (channel) => {
    const put = channel.put.bind(channel);
    channel.put = (order) => {
      if (order.direction !== direction) put(order);
    };
  };
  node.plugin.onCarrier = ({ epochs }) => {
    const send = epochs.send.bind(epochs);
    epochs.send = (frame) => {
      if (decodeMatchHead(frame).kind !== MatchKind.Go) send(frame);
    };
  };
}

/** How many regions the peers of a machine are in. */
function countEntered({ node }: Machine): () => number {
  assert.ok(node.plugin !== undefined);
  let count = 0;
  node.plugin.onHost = (host) => ({
    ...host,
    enter: (...asked) => {
      const entered = host.enter(...asked);
      count += entered.length;
      return entered;
    },
    leave: (entered) => {
      count -= entered.length;
      host.leave(entered);
    },
  });
  return () => count;
}

const WITHHELD = [
  ['a reader that never posts its receives', 'read', RECEIVE, false],
  ['a reader that never says GO', 'read', RECEIVE, true],
  ['a writer that announces and never sends', 'write', SEND, false],
] as const;

for (const [name, operation, direction, isPaced] of WITHHELD) {
  test(`matched: ${name} is in the region for a bounded time`, async () => {
    let entered = (): number => 0;
    const { world, peer, move, ended, pass } = await openPair((own, owner) => {
      withhold(own, direction);
      entered = countEntered(owner);
    }, isPaced);
    const owners = peer.node.sessions.list()[0]?.matched;
    assert.ok(owners !== undefined);
    // Its own patience has no end.
    const transfer = move(operation, { deadlineMs: 3_600_000 });
    await pass(LIMIT_MS - 1000);
    assert.equal(entered(), 1, 'the owner is patient');
    assert.equal(owners.deck.count, 1);
    await world.until(
      () => entered() === 0,
      1000 + FENCE_MS,
      () => `the owner has left: ${entered()}`,
    );
    assert.equal(owners.deck.count, 0);
    await ended(transfer);
    assert.equal(transfer.error?.facts['peerCode'], 'ERR_PEER_TIMEOUT', transfer.error?.message);
    await world.destroy();
  });
}
