// Any bit of a head, a table or a message, changed on its way in a checked session: the receiver
// sees it before it believes anything, no byte lands, and what was in flight goes again.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LaneEnd } from '../../../../test/support/lane-end.js';
import { exchangeFences, resend } from '../../../../test/support/lane-fence.js';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { FAIL_CHECKSUM } from '../../../base/failure.js';
import { createFixedMemory } from '../../../os/fixed-memory.js';
import * as frame from '../../../wire/data-frame.js';
import type { Channel } from './channel.js';
import { receiveTurn } from './channel-receive.hot.js';
import { TRANSFER_DAMAGED, transferWord } from './layout.js';
import {
  EVENT_CHANNEL_DOWN,
  EVENT_NOTIFICATION,
  LOSS_DAMAGED,
  PART_HEAD,
  PART_MESSAGE,
  PART_TABLE,
} from './messages.js';
import { TURN_DAMAGED } from './turn.js';

const scratch = createFixedMemory(64 * 1024);
const REGION_BYTES = 2048;
const BLOCK_BYTES = 100;
const HEAD_BITS = frame.DATA_HEAD_BYTES * 8;

/** A pair with one frame in flight, of which bits are flipped. */
interface Scene {
  readonly pair: LanePair;
  /** Whoever shall receive the frame. */
  readonly receiver: LaneEnd;
  readonly slot: number;
  readonly memories: readonly Uint8Array[];
}

function open(hasContent: 'a' | 'b') {
  const pair = new LanePair({ isChecked: true, windowChunks: 4 });
  const a = addRegion(pair.a, REGION_BYTES);
  const b = addRegion(pair.b, REGION_BYTES);
  (hasContent === 'a' ? a : b).memory.fill(0xa5);
  // What each says first: its credit.
  for (let step = 0; step < 3; step++) for (const end of [pair.a, pair.b]) end.step();
  return { pair, a, b, memories: [a.memory, b.memory] };
}

type Opened = ReturnType<typeof open>;

function blocksOf({ a, b }: Opened, count: number) {
  return Array.from({ length: count }, (_, index) =>
    block(a.region, b.region, BLOCK_BYTES, index * 300, index * 500),
  );
}

function asked(operation: 'write' | 'read', count: number): Scene {
  const opened = open(operation === 'write' ? 'a' : 'b');
  const { pair, memories } = opened;
  const slot = pair.a.post(operation, blocksOf(opened, count));
  pair.a.step();
  return { pair, receiver: pair.b, slot, memories };
}

function answered(operation: 'write' | 'read', key?: string): Scene {
  const opened = open(operation === 'write' ? 'a' : 'b');
  const { pair, memories, a, b } = opened;
  const { descriptor } = b.region;
  const remote = { ...descriptor, key: key ?? descriptor.key };
  const slot = pair.a.post(operation, [{ ...block(a.region, b.region, BLOCK_BYTES), remote }]);
  for (let step = 0; step < 2; step++) pair.a.step();
  for (let step = 0; step < 2; step++) pair.b.step();
  return { pair, receiver: pair.a, slot, memories };
}

function notified(): Scene {
  const { pair, memories } = open('a');
  const slot = pair.a.notify(Uint8Array.from({ length: 40 }, (_, index) => index));
  pair.a.step();
  return { pair, receiver: pair.b, slot, memories };
}

interface Case {
  readonly name: string;
  readonly kind: number;
  readonly part: number;
  /** Bits of the part, from the start of the frame. */
  readonly bits: readonly [number, number];
  readonly make: () => Scene;
}

const TABLE_BITS = [HEAD_BITS, HEAD_BITS + 3 * frame.TABLE_ENTRY_BYTES * 8] as const;
const head = { part: PART_HEAD, bits: [0, HEAD_BITS] } as const;
const table = { part: PART_TABLE, bits: TABLE_BITS } as const;
const NO_KEY = '0'.repeat(32);

const CASES: readonly Case[] = [
  { name: 'WRITE', kind: frame.FRAME_WRITE, ...head, make: () => asked('write', 1) },
  { name: 'WRITE with a table', kind: frame.FRAME_WRITE, ...head, make: () => asked('write', 3) },
  { name: 'WRITE table', kind: frame.FRAME_WRITE, ...table, make: () => asked('write', 3) },
  { name: 'READ_REQUEST', kind: frame.FRAME_READ_REQUEST, ...head, make: () => asked('read', 1) },
  { name: 'READ table', kind: frame.FRAME_READ_REQUEST, ...table, make: () => asked('read', 3) },
  { name: 'READ_DATA', kind: frame.FRAME_READ_DATA, ...head, make: () => answered('read') },
  { name: 'ACK', kind: frame.FRAME_ACK, ...head, make: () => answered('write') },
  { name: 'REFUSE', kind: frame.FRAME_REFUSE, ...head, make: () => answered('read', NO_KEY) },
  { name: 'NOTIFY', kind: frame.FRAME_NOTIFY, ...head, make: notified },
  {
    name: 'NOTIFY message',
    kind: frame.FRAME_NOTIFY,
    part: PART_MESSAGE,
    bits: [HEAD_BITS, HEAD_BITS + 40 * 8],
    make: notified,
  },
];

// Every bit of the part in turn, at a lane that has the same state each time; then the right bytes.
function checkEveryBit(one: Case): void {
  const { pair, receiver, memories } = one.make();
  const pipe = receiver === pair.b ? pair.links[0]!.toB : pair.links[0]!.toA;
  const [channel] = receiver.core.channels;
  assert.ok(channel !== undefined);
  const sent = pipe.peek();
  assert.equal(sent[0], one.kind, 'the frame that is meant is the next to arrive');
  pipe.pull(scratch.addr, sent.length);
  const before = memories.map((memory) => memory.slice());
  const state = stateOf(channel);
  for (let bit = one.bits[0]; bit < one.bits[1]; bit++) {
    scratch.uint8.set(sent);
    pipe.push(scratch.addr, sent.length);
    pipe.flipBit(bit);
    channel.ready.tryAll(true);
    assert.equal(receiveTurn(receiver.core, channel), TURN_DAMAGED - one.part, `bit ${bit}`);
    for (const [index, memory] of memories.entries()) {
      assert.equal(Buffer.compare(memory, before[index]!), 0, `bit ${bit}: no byte has landed`);
    }
    assert.deepEqual(stateOf(channel), state, `bit ${bit}: nothing was believed`);
    channel.intake.stagingStart = channel.intake.stagingEnd = 0;
    pipe.pull(scratch.addr, pipe.sentBytes - pipe.receivedBytes);
  }
  scratch.uint8.set(sent);
  pipe.push(scratch.addr, sent.length);
  channel.ready.tryAll(true);
  assert.ok(receiveTurn(receiver.core, channel) >= 0, 'as it was sent it is taken');
  pair.destroy();
}

// What a frame would have changed.
function stateOf({ arrivals, writes, reads, served, refusals, credit, intake }: Channel) {
  return [
    arrivals.arrived,
    arrivals.landed,
    writes.acked,
    reads.arrived,
    served.tail,
    refusals.count,
    credit.chunks,
    intake.phase,
  ];
}

// The whole way: the channel ends, both ends say what has landed, and the chunk goes again.
function checkFlip(one: Case, bit: number): void {
  const { pair, receiver, slot } = one.make();
  (receiver === pair.b ? pair.links[0]!.toB : pair.links[0]!.toA).flipBit(bit);
  for (let step = 0; step < 2; step++) receiver.step();
  const [down] = receiver.eventsOf(EVENT_CHANNEL_DOWN);
  assert.deepEqual(down?.words.slice(3, 5), [LOSS_DAMAGED, one.part], `bit ${bit}`);
  assert.equal(pair.b.eventsOf(EVENT_NOTIFICATION).length, 0);
  assert.ok(!pair.a.isFinished(slot), 'what was in flight is neither done nor failed');
  for (let step = 0; step < 2; step++) (receiver === pair.b ? pair.a : pair.b).step();
  exchangeFences(pair);
  pair.a.step();
  const landed = one.kind === frame.FRAME_ACK ? 1 : 0;
  assert.equal(resend(pair.a), 1 - landed, 'one chunk goes again, unless it had landed');
  assert.equal(pair.a.transfers.damaged(slot).count, 1 - landed);
  pair.destroy();
}

for (const one of CASES) {
  const [first, end] = one.bits;
  test(`damage: each of ${end - first} bits is seen before anything lands: ${one.name}`, () => {
    checkEveryBit(one);
  });
  test(`damage: the channel ends and the chunk goes again: ${one.name}`, () => {
    for (const bit of [first, (first + end) >> 1, end - 1]) checkFlip(one, bit);
  });
}

test('damage: heads that come damaged again and again fail the transfer and say where', () => {
  const { pair, slot } = asked('write', 1);
  pair.links[0]!.toB.flipBit(9);
  for (let step = 0; step < 5; step++) pair.b.step();
  // So often has it happened before.
  const { core } = pair.a;
  core.int32[transferWord(core.transfersAt, slot, TRANSFER_DAMAGED)] = 16;
  for (let step = 0; step < 5; step++) pair.a.step();
  exchangeFences(pair);
  pair.a.step();
  assert.ok(pair.a.isFinished(slot));
  assert.equal(pair.a.transfers.failure(slot), FAIL_CHECKSUM);
  assert.deepEqual(pair.a.transfers.damaged(slot), { count: 17, channel: 0 });
  pair.destroy();
});
