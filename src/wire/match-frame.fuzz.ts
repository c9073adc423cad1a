// Heads and bodies of match frames: any bytes are what can be written again, or a wire error.

import assert from 'node:assert/strict';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import {
  decodeMatchHead,
  decodeReason,
  encodeMatch,
  encodeReason,
  MATCH_HEAD_BYTES,
  MatchFlag,
  MatchKind,
  PLAN_SLOTS_MAX,
} from './match-frame.js';
import { decodeMatchHello, encodeMatchHello, HANDLE_BYTES } from './match-hello.js';
import { decodeMatchPlan, encodeMatchPlan } from './match-plan.js';

const heads = [
  encodeMatch({ kind: MatchKind.Joined }),
  encodeMatch({ kind: MatchKind.Plan, plan: 63, digest: 0xffffffff }, new Uint8Array(40)),
  encodeMatch({ kind: MatchKind.Announce, flags: MatchFlag.Notify, sequence: 9, tag: 77 }),
  encodeMatch({ kind: MatchKind.Down }, encodeReason({ code: 'ERR_NCCLNET_CALL', reason: 'gone' })),
];

const hello = encodeMatchHello({
  plugin: { name: 'X', version: '1', tableVersion: 4, isEmulated: true, pointerType: 'cuda' },
  chunkBytes: 524288,
  isHostRecv: false,
  nics: ['eth1', 'eth2'],
  handles: ['ab'.repeat(HANDLE_BYTES), 'cd'.repeat(HANDLE_BYTES)],
});

const plan = encodeMatchPlan({
  chunkBytes: 524288,
  gatherBytes: 4096,
  weights: [1, 1, 0],
  regions: [
    { slot: 3, generation: 1, key: new Uint8Array(16).fill(9) },
    { slot: 4, generation: 7, key: new Uint8Array(16).fill(8) },
  ],
  regionIndexes: Uint32Array.of(0, 1, 1),
  offsets: Float64Array.of(0, 4096, 2 ** 40),
  lengths: Float64Array.of(100, 524288, 1),
});

export const FUZZ_TARGETS = [
  fuzzTarget(
    'match head: within every limit and itself again, or a wire error',
    { runs: 4000 },
    mutatedBytes(heads),
    (bytes) => {
      const whole = new Uint8Array(MATCH_HEAD_BYTES);
      whole.set(bytes.subarray(0, MATCH_HEAD_BYTES));
      const head = decodesOrRefuses(decodeMatchHead, whole, /^ERR_WIRE_/);
      if (head === undefined) return;
      assert.ok(head.plan < PLAN_SLOTS_MAX);
      const { bodyBytes, ...fields } = head;
      const again = encodeMatch(fields, new Uint8Array(Math.min(bodyBytes, 100)));
      new DataView(again.buffer).setUint32(4, bodyBytes, true);
      assert.deepEqual(again.slice(0, MATCH_HEAD_BYTES), whole);
    },
  ),
  fuzzTarget(
    'match HELLO: what can be written again, or a wire error',
    { runs: 2000 },
    mutatedBytes([hello]),
    (bytes) => {
      const decoded = decodesOrRefuses(decodeMatchHello, bytes, /^ERR_WIRE_/);
      if (decoded !== undefined)
        assert.deepEqual(decodeMatchHello(encodeMatchHello(decoded)), decoded);
    },
  ),
  fuzzTarget(
    'match PLAN: blocks of its regions with places, or a wire error',
    { runs: 3000 },
    mutatedBytes([plan]),
    (bytes) => {
      const decoded = decodesOrRefuses(decodeMatchPlan, bytes, /^ERR_WIRE_/);
      if (decoded === undefined) return;
      const { regions, regionIndexes, offsets, lengths } = decoded;
      assert.ok(regionIndexes.every((index) => index < regions.length));
      assert.ok(offsets.every((offset) => Number.isSafeInteger(offset) && offset >= 0));
      assert.ok(lengths.every((length) => Number.isSafeInteger(length) && length > 0));
      assert.deepEqual(decodeMatchPlan(encodeMatchPlan(decoded)), decoded);
    },
  ),
  fuzzTarget(
    'match reason: code and text, or a wire error',
    { runs: 2000 },
    mutatedBytes([encodeReason({ code: 'ERR_PEER_LOST', reason: 'ends' })]),
    (bytes) => void decodesOrRefuses(decodeReason, bytes, /^ERR_WIRE_/),
  ),
];
