// Messages between the ends of a benchmark: any text is one with all its fields, or a wire error.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedText } from '../../test/support/mutated-bytes.js';
import { decodeBenchMessage } from './bench-message.js';

const region = { slot: 0, generation: 1, bytes: 64, key: '0123456789abcdef'.repeat(2) };
const examples = [
  { kind: 'setup', sizeBytes: 65536, blockBytes: 4096, memory: 'dram', isBoth: false },
  { kind: 'pong', region, count: 3, bytes: 64 },
  { kind: 'check', seed: 1, isVerify: true },
  { kind: 'counted', channels: [] },
  { kind: 'counted', channels: [], pauses: { count: 1, totalUs: 70.5, longestUs: 70.5 } },
  { kind: 'begin' },
  {
    kind: 'finish',
    report: {
      op: 'write',
      iterations: 3,
      bytes: 64,
      medianGBps: 1.5,
      meanGBps: 1.25,
      latencyP50Us: 12.5,
      isOk: true,
      checked: 1,
    },
  },
].map((message) => JSON.stringify(message));
const object = fc
  .record(
    { kind: fc.constantFrom('setup', 'pong', 'check', 'failed', 'finish') },
    { noNullPrototype: true },
  )
  .chain((kind) => fc.object().map((fields) => JSON.stringify({ ...fields, ...kind })));

export const FUZZ_TARGETS = [
  fuzzTarget(
    'benchmark message: complete, or a wire error',
    { runs: 2000 },
    fc.oneof(mutatedText(examples), fc.json(), object),
    (text) => {
      const decode = (given: string) => decodeBenchMessage(Buffer.from(given));
      const message = decodesOrRefuses(decode, text, /^ERR_WIRE_FRAME$/);
      if (message?.kind === 'setup') {
        assert.ok(Number.isSafeInteger(message.sizeBytes) && message.sizeBytes > 0, text);
        assert.ok(Number.isSafeInteger(message.blockBytes) && message.blockBytes >= 0, text);
      }
      if (message?.kind === 'finish') {
        const { iterations, medianGBps, op } = message.report;
        assert.ok(iterations >= 0 && medianGBps >= 0 && op.length <= 20, text);
      }
      if (message?.kind === 'pong') {
        assert.ok(message.count >= 0 && message.bytes > 0, text);
        assert.match(message.region.key, /^[0-9a-f]{32}$/);
      }
    },
  ),
];
