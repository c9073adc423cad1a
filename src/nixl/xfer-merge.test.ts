// Which pairs makeXferReq joins: those that NIXL 1.4 joins, so that descriptor counts are equal.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fill, openMockPair, piecesOf, regionOf } from '../../test/support/mock-agents.js';
import { XferOp } from './memory-type.js';
import { NixlStatus } from './status.js';

type Piece = readonly [offset: number, len: number];

interface MergeCase {
  readonly what: string;
  readonly pieces: readonly Piece[];
  readonly local: readonly number[];
  readonly remote?: readonly number[];
  readonly merged: number;
}

const DENSE: readonly Piece[] = [0, 8, 16, 24].map((offset) => [offset, 8]);

const CASES: readonly MergeCase[] = [
  { what: 'a dense run', pieces: DENSE, local: [0, 1, 2, 3], merged: 1 },
  { what: 'a part of it', pieces: DENSE, local: [1, 2], remote: [0, 1], merged: 1 },
  { what: 'two parts of it', pieces: DENSE, local: [0, 1, 3], merged: 2 },
  { what: 'one side out of order', pieces: DENSE, local: [0, 1, 2], remote: [0, 2, 1], merged: 3 },
  { what: 'the same piece twice', pieces: DENSE, local: [0, 0], remote: [0, 1], merged: 2 },
  {
    what: 'neighbours of unequal length',
    pieces: [
      [0, 8],
      [8, 16],
    ],
    local: [0, 1],
    merged: 2,
  },
  {
    what: 'neighbours in memory that are not neighbours in the list',
    pieces: [
      [8, 8],
      [0, 8],
    ],
    local: [1, 0],
    merged: 2,
  },
  {
    what: 'a gap, after which the list has begun to step further than its pieces',
    pieces: [
      [0, 8],
      [16, 8],
      [24, 8],
    ],
    local: [1, 2],
    merged: 2,
  },
  {
    what: 'pieces that overlap',
    pieces: [
      [0, 8],
      [4, 8],
    ],
    local: [0, 1],
    merged: 2,
  },
];

for (const { what, pieces, local, remote = local, merged } of CASES) {
  test(`merge: ${what}`, async (t) => {
    const { a, b } = await openMockPair(t, { captureTelemetry: true });
    const here = a.agent.prepXferDlist('', piecesOf(a.memory, ...pieces));
    const there = a.agent.prepXferDlist('b', piecesOf(b.memory, ...pieces));
    const request = a.agent.makeXferReq(XferOp.WRITE, here, local, there, remote);
    assert.equal(request.descCount, merged);
    fill(a.memory, 5);
    assert.equal(a.agent.postXferReq(request), NixlStatus.SUCCESS);
    assert.equal(a.agent.getXferTelemetry(request).descCount, merged);
    const expected = new Uint8Array(64);
    for (const [index, from] of local.entries()) {
      const [offset = 0, len = 0] = pieces[from] ?? [];
      const [target = 0] = pieces[remote[index] ?? -1] ?? [];
      expected.set(a.memory.bytes.subarray(offset, offset + len), target);
    }
    assert.deepEqual(b.memory.bytes.subarray(0, 64), expected);
    const plain = { skipDescMerge: true };
    const apart = a.agent.makeXferReq(XferOp.WRITE, here, local, there, remote, plain);
    assert.equal(apart.descCount, local.length);
  });
}

test('merge: not across registrations', async (t) => {
  const { a, b, network } = await openMockPair(t);
  const block = network.allocate(16);
  const halves = [
    { addr: block.addr, len: 8, devId: 0 },
    { addr: block.addr + 8, len: 8, devId: 0 },
  ];
  await a.agent.registerMem({ ...regionOf(block), descs: halves });
  const here = a.agent.prepXferDlist('', piecesOf(block, [0, 8], [8, 8]));
  const there = a.agent.prepXferDlist('b', piecesOf(b.memory, [0, 8], [8, 8]));
  const request = a.agent.makeXferReq(XferOp.WRITE, here, [0, 1], there, [0, 1]);
  assert.equal(request.descCount, 2);
});
