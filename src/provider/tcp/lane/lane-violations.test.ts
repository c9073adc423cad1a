// A peer that breaks a rule: frames are written by hand into the link; the lane must close the
// channel with that rule, let go of every region and leave memory alone.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addRegion, block, LanePair } from '../../../../test/support/lane-pair.js';
import { FAIL_BOUNDS, FAIL_CHECKSUM, FAIL_EXPIRED } from '../../../base/failure.js';
import { seededRandom } from '../../../base/random.js';
import type { Region } from '../../../memory/region.js';
import { createFixedMemory } from '../../../os/fixed-memory.js';
import * as frame from '../../../wire/data-frame.js';
import { FRAME_RULES, RULE_RING } from '../../../wire/data-frame-rules.js';
import { EPROTO } from '../shm/shm-ring.hot.js';
import {
  COMMAND_CLOSE_SESSION,
  EVENT_CHANNEL_DOWN,
  EVENT_NOTIFICATION,
  LOSS_PROTOCOL,
} from './messages.js';

const scratch = createFixedMemory(1 << 20);

type Words = Readonly<Record<number, number>>;

interface HandMade {
  readonly words: Words;
  readonly region?: Region;
  readonly table?: readonly (readonly number[])[];
  readonly payload?: Uint8Array;
}

function bytesOf(made: HandMade): Uint8Array {
  const table = (made.table ?? []).flat();
  const words = new Uint32Array(16 + table.length);
  if (made.region !== undefined) {
    words[frame.WORD_REGION_SLOT] = made.region.descriptor.slot;
    words[frame.WORD_REGION_GENERATION] = made.region.descriptor.generation;
    const key = Buffer.from(made.region.descriptor.key, 'hex');
    for (let index = 0; index < 4; index++) {
      words[frame.WORD_KEY + index] = key.readUInt32LE(index * 4);
    }
  }
  for (const [word, value] of Object.entries(made.words)) words[Number(word)] = value;
  words.set(table, 16);
  return Buffer.concat([Buffer.from(words.buffer), made.payload ?? new Uint8Array(0)]);
}

/** Puts bytes on the wire towards `b`, as if `a` had sent them. */
function inject(pair: LanePair, bytes: Uint8Array): void {
  scratch.uint8.set(bytes);
  pair.links[0]!.toB.push(scratch.addr, bytes.length);
}

function lossOf(pair: LanePair): number | undefined {
  for (let step = 0; step < 20; step++) pair.b.step();
  const [lost] = pair.b.eventsOf(EVENT_CHANNEL_DOWN);
  if (lost === undefined) return undefined;
  assert.equal(lost.words[3], LOSS_PROTOCOL);
  assert.equal(pair.b.core.channels.length, 0);
  return lost.words[4];
}

const KIND = frame.WORD_KIND;
const PAYLOAD = frame.WORD_PAYLOAD_BYTES;
const ACK = frame.WORD_ACK;
const SEQUENCE = frame.WORD_SEQUENCE;
const ENTRIES = 1 << frame.TABLE_ENTRIES_SHIFT;
const BYTES = frame.WORD_OPERATION_BYTES;
const WRITE_100: Words = { [KIND]: frame.FRAME_WRITE, [PAYLOAD]: 100, [BYTES]: 100 };
const READ_100: Words = { [KIND]: frame.FRAME_READ_REQUEST, [BYTES]: 100 };
const NOTIFY_0: Words = { [KIND]: frame.FRAME_NOTIFY, [frame.WORD_TRANSFER_HIGH]: 1 };
const ACK_0: Words = { [KIND]: frame.FRAME_ACK };

const CASES: readonly (readonly [number, string, (region: Region) => readonly HandMade[]])[] = [
  [1, 'kind 9', () => [{ words: { [KIND]: 9 } }]],
  [2, 'a check where none was agreed', () => [{ words: { ...ACK_0, [frame.WORD_HEAD_CHECK]: 9 } }]],
  [2, 'the flag of a read answer elsewhere', () => [{ words: { ...ACK_0, [KIND]: 0x0105 } }]],
  [
    2,
    'a reserved word in the table',
    (region) => [
      {
        words: { ...WRITE_100, [KIND]: frame.FRAME_WRITE + ENTRIES },
        region,
        table: [[0, 0, 100, 1]],
      },
    ],
  ],
  [
    3,
    '1,001 table entries',
    (region) => [{ words: { ...WRITE_100, [KIND]: frame.FRAME_WRITE + 1001 * ENTRIES }, region }],
  ],
  [
    4,
    'a chunk above the agreed size',
    (region) => [{ words: { ...WRITE_100, [PAYLOAD]: 65537, [BYTES]: 65537 }, region }],
  ],
  [
    5,
    'a payload that is not the operation',
    (region) => [{ words: { ...WRITE_100, [PAYLOAD]: 99 }, region }],
  ],
  [6, 'an offset of 2^53', (region) => [{ words: { ...WRITE_100, 15: 0x200000 }, region }]],
  [
    7,
    'a table that does not add up',
    (region) => [
      {
        words: { ...WRITE_100, [KIND]: frame.FRAME_WRITE + 2 * ENTRIES },
        region,
        table: [
          [0, 0, 60, 0],
          [60, 0, 39, 0],
        ],
      },
    ],
  ],
  [8, 'a write out of sequence', (region) => [{ words: { ...WRITE_100, [SEQUENCE]: 1 }, region }]],
  [8, 'a notification out of sequence', () => [{ words: { ...NOTIFY_0, [SEQUENCE]: 7 } }]],
  [8, 'a read out of sequence', (region) => [{ words: { ...READ_100, [SEQUENCE]: 1 }, region }]],
  [
    9,
    'more reads than the window',
    (region) =>
      Array.from({ length: 40 }, (_, index) => ({
        words: { ...READ_100, [SEQUENCE]: index },
        region,
      })),
  ],
  [10, 'an acknowledgement of nothing', () => [{ words: { ...ACK_0, [ACK]: 1 } }]],
  [10, 'an acknowledgement from the past', () => [{ words: { ...ACK_0, [ACK]: 0xffffffff } }]],
  [10, 'a confirmation of answers to nothing', () => [{ words: { ...ACK_0, [SEQUENCE]: 1 } }]],
  [10, 'a confirmation from the past', () => [{ words: { ...ACK_0, [SEQUENCE]: 0xffffffff } }]],
  [
    10,
    'a read answer that nobody asked for',
    () => [{ words: { [KIND]: frame.FRAME_READ_DATA, [PAYLOAD]: 9, [BYTES]: 9 } }],
  ],
  [
    10,
    'a refusal of a write that was not sent',
    () => [{ words: { [KIND]: frame.FRAME_REFUSE, 4: 1, 5: frame.FRAME_WRITE } }],
  ],
  [
    10,
    'a refusal of a read that was not sent',
    () => [{ words: { [KIND]: frame.FRAME_REFUSE, 4: 1, 5: frame.FRAME_READ_REQUEST } }],
  ],
  [12, 'a refusal without a reason', () => [{ words: { [KIND]: frame.FRAME_REFUSE, 5: 1 } }]],
];

for (const [rule, name, make] of CASES) {
  test(`violation: ${name} closes the channel with rule ${rule} (${FRAME_RULES[rule]})`, () => {
    const pair = new LanePair({ windowChunks: 16, link: {} });
    const { region, memory } = addRegion(pair.b, 1000);
    inject(pair, Buffer.concat(make(region).map(bytesOf)));
    assert.equal(lossOf(pair), rule);
    assert.equal(pair.b.regions.users(region), 0);
    assert.ok(memory.every((byte) => byte === 0));
  });
}

test('violation: an acknowledgement of bytes that were not sent is rule 10', () => {
  const pair = new LanePair({ link: { pipeBytes: 1000 } });
  const a = addRegion(pair.a, 4000);
  const b = addRegion(pair.b, 4000);
  const slot = pair.b.post('write', [block(b.region, a.region, 4000)]);
  pair.b.step();
  assert.equal(pair.links[0]!.toA.sentBytes, 1000, 'the rest waits in the vector');
  inject(pair, bytesOf({ words: { ...ACK_0, [ACK]: 1 } }));
  assert.equal(lossOf(pair), 10);
  pair.b.command(COMMAND_CLOSE_SESSION, [0]);
  pair.b.step();
  assert.notEqual(pair.b.transfers.failure(slot), 0, 'not done: its memory was still needed');
});

test('violation: a confirmation of an answer that was not sent is rule 10', () => {
  const pair = new LanePair({ link: { pipeBytes: 1000 } });
  const { region } = addRegion(pair.b, 4000);
  const words = { ...READ_100, [BYTES]: 4000 };
  inject(pair, bytesOf({ words, region }));
  pair.b.step();
  assert.equal(pair.links[0]!.toA.sentBytes, 1000, 'the rest waits in the vector');
  inject(pair, bytesOf({ words: { ...ACK_0, [SEQUENCE]: 1 } }));
  assert.equal(lossOf(pair), 10);
  assert.equal(pair.b.regions.users(region), 0);
});

test('violation: a frame that was not sent cannot have arrived damaged: rule 10', () => {
  const pair = new LanePair({ link: { pipeBytes: 1000 } });
  const a = addRegion(pair.a, 4000);
  const b = addRegion(pair.b, 4000);
  pair.b.post('write', [block(b.region, a.region, 4000)]);
  pair.b.step();
  const words = { [KIND]: frame.FRAME_REFUSE, 4: FAIL_CHECKSUM, 5: frame.FRAME_WRITE };
  inject(pair, bytesOf({ words }));
  assert.equal(lossOf(pair), 10);
});

test('violation: a region may be refused before all of a frame was sent', () => {
  const pair = new LanePair({ link: { pipeBytes: 1000 } });
  const a = addRegion(pair.a, 4000);
  const b = addRegion(pair.b, 4000);
  const slot = pair.b.post('write', [block(b.region, a.region, 4000)]);
  pair.b.step();
  const words = { [KIND]: frame.FRAME_REFUSE, 4: FAIL_EXPIRED, 5: frame.FRAME_WRITE };
  inject(pair, bytesOf({ words }));
  assert.equal(lossOf(pair), undefined);
  assert.ok(!pair.b.isFinished(slot), 'its memory is needed until the rest was sent');
});

test('violation: a read answer of other length than asked for is rule 11', () => {
  const pair = new LanePair();
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  const slot = pair.b.post('read', [block(b.region, a.region, 500)]);
  pair.b.step();
  inject(pair, bytesOf({ words: { [KIND]: frame.FRAME_READ_DATA, [PAYLOAD]: 499, [BYTES]: 499 } }));
  assert.equal(lossOf(pair), 11);
  pair.b.command(COMMAND_CLOSE_SESSION, [0]);
  pair.b.step();
  assert.ok(pair.b.isFinished(slot));
  assert.notEqual(pair.b.transfers.failure(slot), 0);
});

test('violation: an operation of the peer on the channel of this end’s own is rule 14', () => {
  for (const words of [WRITE_100, READ_100, NOTIFY_0]) {
    const pair = new LanePair({ isOwn: true });
    const { region } = addRegion(pair.a, 100);
    const remote = addRegion(pair.b, 100);
    const slot = pair.a.post('write', [block(region, remote.region, 100)]);
    assert.equal(pair.finish(slot), 0, 'its own ones go there');
    scratch.uint8.set(bytesOf({ words: { ...words, [ACK]: 1 }, region }));
    pair.links[0]!.toA.push(scratch.addr, 64);
    for (let step = 0; step < 20; step++) pair.a.step();
    assert.equal(pair.a.eventsOf(EVENT_CHANNEL_DOWN)[0]?.words[4], 14);
    assert.equal(pair.a.regions.users(region), 0);
  }
});

test('channel of one end’s own: what the other end posts waits for a channel of both', () => {
  const pair = new LanePair({ isOwn: true });
  const a = addRegion(pair.a, 100);
  const b = addRegion(pair.b, 100);
  const slot = pair.b.post('write', [block(b.region, a.region, 100)]);
  pair.settle();
  assert.ok(!pair.b.isFinished(slot));
});

test('violation: a read answer out of order is rule 8', () => {
  const pair = new LanePair();
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  pair.b.post('read', [block(b.region, a.region, 500)]);
  pair.b.step();
  const words = { [KIND]: frame.FRAME_READ_DATA, [PAYLOAD]: 500, [BYTES]: 500, [SEQUENCE]: 3 };
  inject(pair, bytesOf({ words }));
  assert.equal(lossOf(pair), 8);
});

test('violation: a port in shared memory that finds nonsense there ends by its own rule', () => {
  for (const call of ['receive', 'send'] as const) {
    const pair = new LanePair();
    const [a, b] = [addRegion(pair.a, 100), addRegion(pair.b, 100)];
    pair.b.post('write', [block(b.region, a.region, 100)]);
    pair.links[0]!.b[call] = () => -EPROTO;
    assert.equal(lossOf(pair), RULE_RING);
  }
});

test('violation: every rule that has a text is broken by some test here', () => {
  const covered = new Set([...CASES.map(([rule]) => rule), 11, 13, 14]);
  assert.deepEqual(
    Object.keys(FRAME_RULES)
      .map(Number)
      .filter((rule) => !covered.has(rule)),
    [],
  );
});

test('violation: the peer cannot aim a read answer; it lands where this end asked', () => {
  const pair = new LanePair();
  const a = addRegion(pair.a, 1000);
  const b = addRegion(pair.b, 1000);
  pair.b.post('read', [block(b.region, a.region, 100, 200, 0)]);
  pair.b.step();
  const words = { [KIND]: frame.FRAME_READ_DATA, [PAYLOAD]: 100, [BYTES]: 100, 14: 700 };
  inject(pair, bytesOf({ words, region: b.region, payload: new Uint8Array(100).fill(9) }));
  assert.equal(lossOf(pair), undefined);
  assert.ok(b.memory.subarray(200, 300).every((byte) => byte === 9));
  assert.equal(b.memory.filter((byte) => byte === 9).length, 100);
});

test('frames: hand-made ones are taken when they keep the rules, one byte at a time too', () => {
  for (const callBytesMax of [1, 3, 64, 1000]) {
    const pair = new LanePair({ link: { callBytesMax } });
    const { region, memory } = addRegion(pair.b, 1000);
    const payload = Uint8Array.from({ length: 100 }, (_, index) => index + 1);
    const table = [
      [500, 0, 1, 0],
      [400, 0, 99, 0],
    ];
    inject(
      pair,
      Buffer.concat([
        bytesOf({ words: { ...WRITE_100, 14: 10 }, region, payload }),
        bytesOf({
          words: { ...NOTIFY_0, [SEQUENCE]: 1, [PAYLOAD]: 3 },
          payload: payload.slice(0, 3),
        }),
        bytesOf({
          words: { ...WRITE_100, [KIND]: frame.FRAME_WRITE + 2 * ENTRIES, [SEQUENCE]: 2 },
          region,
          table,
          payload,
        }),
        bytesOf({ words: ACK_0 }),
      ]),
    );
    for (let step = 0; step < 1000; step++) pair.b.step();
    assert.equal(pair.b.eventsOf(EVENT_CHANNEL_DOWN).length, 0);
    assert.deepEqual(memory.slice(10, 110), payload);
    assert.equal(memory[500], 1);
    assert.deepEqual(memory.slice(400, 499), payload.slice(1));
    assert.deepEqual(pair.b.eventsOf(EVENT_NOTIFICATION)[0]?.bytes, payload.slice(0, 3));
  }
});

test('frames: a table entry out of bounds refuses the whole frame', () => {
  const pair = new LanePair();
  const { region, memory } = addRegion(pair.b, 1000);
  const payload = new Uint8Array(100).fill(5);
  const table = [
    [0, 0, 50, 0],
    [951, 0, 50, 0],
  ];
  inject(
    pair,
    bytesOf({
      words: { ...WRITE_100, [KIND]: frame.FRAME_WRITE + 2 * ENTRIES },
      region,
      table,
      payload,
    }),
  );
  for (let step = 0; step < 20; step++) pair.b.step();
  assert.equal(pair.b.eventsOf(EVENT_CHANNEL_DOWN).length, 0);
  assert.ok(
    memory.every((byte) => byte === 0),
    'not even the first block lands',
  );
  const answer = pair.links[0]!.toA.peek();
  assert.equal(answer[0], frame.FRAME_REFUSE);
  assert.equal(new DataView(answer.buffer).getUint32(16, true), FAIL_BOUNDS);
  assert.equal(pair.b.regions.users(region), 0);
});

test('frames: random bytes never land and never hang', () => {
  const random = seededRandom(99);
  for (let round = 0; round < 100; round++) {
    const pair = new LanePair({ seed: round + 1 });
    const { region, memory } = addRegion(pair.b, 1000);
    const bytes = Uint8Array.from({ length: 4096 }, () => random.nextUint32() & 255);
    // Half of them start with a good kind, so that more than the first check is reached.
    if (round % 2 === 0) bytes.set([1 + (round % 6), 0, 0, 0]);
    inject(pair, bytes);
    for (let step = 0; step < 20; step++) pair.b.step();
    assert.ok(memory.every((byte) => byte === 0));
    assert.equal(pair.b.regions.users(region), 0);
    pair.destroy();
  }
});
