import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  CHUNK_BYTES,
  CHUNK_FIELDS,
  CHUNK_OFFSET,
  CHUNK_PIECES,
  CHUNK_REGION,
  NO_REGION,
} from '../host-layout.js';
import { type ChannelSurroundings, checkPlaces } from './channel-part.js';

// checked: no more of it is used
const surroundings = {
  options: { chunkBytes: 100 },
  region: (id: number) => ({ addr: 0, bytes: id === 1 ? 1000 : 50 }),
} as unknown as ChannelSurroundings;

function check(
  region: number,
  offset: number,
  bytes: number,
  pieces: readonly (readonly [number, number, number])[] = [],
): void {
  const record = new Float64Array(CHUNK_FIELDS + pieces.length * 3);
  record[CHUNK_REGION] = region;
  record[CHUNK_OFFSET] = offset;
  record[CHUNK_BYTES] = bytes;
  record[CHUNK_PIECES] = pieces.length;
  record.set(pieces.flat(), CHUNK_FIELDS);
  checkPlaces(surroundings, record, 0);
}

test('chunk record: a message larger than the chunk is an assertion, wherever it goes', () => {
  check(1, 0, 100);
  assert.throws(() => check(1, 0, 101), /a message is at most a chunk/);
  assert.throws(() => check(NO_REGION, 0, 101), /a message is at most a chunk/);
});

test('chunk record: places lie in their regions', () => {
  check(1, 900, 100);
  check(NO_REGION, 5000, 100);
  assert.throws(() => check(1, 901, 100), /lies in its region/);
  check(1, 0, 60, [
    [1, 990, 10],
    [2, 0, 50],
  ]);
  const outside = [
    [1, 0, 10],
    [2, 1, 50],
  ] as const;
  assert.throws(() => check(1, 0, 60, outside), /lies in its region/);
});

test('chunk record: pieces make up their chunk', () => {
  const pieces = [
    [1, 0, 10],
    [1, 20, 10],
  ] as const;
  check(1, 0, 20, pieces);
  assert.throws(() => check(1, 0, 21, pieces), /pieces make up their chunk/);
});
