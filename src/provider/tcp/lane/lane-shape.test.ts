// Objects of the hot path keep their shape however long they live: when one changes, V8 throws away
// all code that it compiled for it. A field that is not said to stay small must take any number.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { createContext, runInContext } from 'node:vm';
import { LanePair } from '../../../../test/support/lane-pair.js';
import type { Channel } from './channel.js';

setFlagsFromString('--allow-natives-syntax');
const compare: unknown = runInContext('(a, b) => %HaveSameMap(a, b)', createContext());
// cast: the line above says what it is
const haveSameShape = compare as (a: object, b: object) => boolean;

/** Numbers of things, kinds and 32-bit cursors, and bytes of at most one window or vector. */
const STAYS_SMALL: Readonly<Record<string, readonly string[]>> = {
  LaneCore: [
    ...['laneIndex', 'claimedSlot', 'ackDelayTurns'],
    // Set once, when the lane begins.
    ...['transfersAt', 'arenaAt', 'controlAt', 'stallUs', 'receiveBytes', 'sendBytes'],
    'unsentShare',
  ],
  Channel: ['sessionIndex', 'channelIndex', 'epoch', 'windowChunks', 'chunkBytesMax'],
  ChannelReady: ['wakeBytes'],
  SendVector: ['headBytes', 'first', 'count', 'bytes'],
  OwnWrites: ['next', 'acked'],
  OwnReads: ['next', 'arrived', 'done', 'told'],
  ChannelCredit: ['chunks', 'granted', 'grantTold', 'flightBytes'],
  Arrivals: ['arrived', 'landed', 'ackSent', 'ackDelayTurns'],
  Refusals: ['count', 'pastCount'],
  ServedReads: [
    ...['done', 'confirmed', 'framed', 'tail', 'started'],
    ...['placesMax', 'placesTail', 'placesHeld'],
  ],
  Intake: [
    ...['stagingStart', 'stagingEnd', 'phase', 'frameKind', 'frameRegion', 'frameSequence'],
    ...['frameHeadBytes', 'payloadLeft', 'askedBytes', 'segmentIndex', 'segmentCount'],
  ],
  OutCopies: [
    ...['head', 'started', 'tail'],
    ...['copiedTransfer', 'copiedChunk', 'copiedDevice', 'copiedSlot'],
  ],
  HeldSlots: ['outHeld', 'flightHeld', 'vectorHeld', 'vectorCount'],
  Landing: ['frameDevice', 'frameSlot', 'frameLow', 'frameHigh', 'blockCount', 'head', 'tail'],
};

function assertTakesAnyNumber(subject: object, fresh: object): void {
  const owner = subject.constructor.name;
  assert.ok(haveSameShape(subject, fresh), `two of ${owner} have one shape`);
  for (const [name, value] of Object.entries(subject)) {
    if (typeof value !== 'number' || STAYS_SMALL[owner]?.includes(name) === true) continue;
    Object.assign(subject, { [name]: 2 ** 40 + 0.5 });
    assert.ok(haveSameShape(subject, fresh), `${owner}.${name} changes the shape of its object`);
  }
}

/** What changes in a channel: itself and the objects that its fields hold for good. */
function partsOf(channel: Channel): object[] {
  const { port, stagers, ...rest } = channel;
  assert.ok(port.fd < 0 && stagers.length > 0, 'these two are no parts');
  return [channel, ...Object.values(rest).filter((value) => typeof value === 'object')];
}

test('shape: the comparison tells a small number from a large one', () => {
  const [a, b] = [{ count: 0 }, { count: 0 }];
  assert.ok(haveSameShape(a, b));
  assert.throws(() => assertTakesAnyNumber(a, b), /Object\.count changes/);
});

for (const channels of [1, 2]) {
  test(`shape: totals and times of a lane with ${channels} channels grow without a new one`, () => {
    const pair = new LanePair({ channels });
    const [core, fresh] = [pair.a.core, pair.b.core];
    const [channel, other] = [core.channels[0], fresh.channels[0]];
    assert.ok(channel !== undefined && other !== undefined);
    const others = partsOf(other);
    const parts = partsOf(channel);
    assert.ok(parts.length > 10, `${parts.length} parts`);
    for (const [index, part] of parts.entries()) assertTakesAnyNumber(part, others[index]!);
    assertTakesAnyNumber(core, fresh);
    pair.destroy();
  });
}

test('shape: fields that are said to stay small are there', () => {
  const pair = new LanePair({});
  const { core } = pair.a;
  const parts = [core, ...core.channels.flatMap(partsOf)];
  for (const [owner, names] of Object.entries(STAYS_SMALL)) {
    const part = parts.find(({ constructor }) => constructor.name === owner);
    assert.ok(part !== undefined, owner);
    for (const name of names) assert.ok(name in part, `${owner}.${name}`);
  }
  pair.destroy();
});
