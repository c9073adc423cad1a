// Everything that other agents, of ours or NIXL's own, send as metadata and notifications.

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { METADATA_EXAMPLES } from '../../test/support/metadata-examples.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import { isTcpxError } from '../base/errors.js';
import {
  decodeRegDlist,
  decodeXferDlist,
  encodeRegDlist,
  encodeXferDlist,
} from './descriptor-codec.js';
import { decodeFrameHead, decodeListenerBody } from './listener-message.js';
import { decodeMetadata, encodeMetadata } from './metadata.js';
import { decodeNotification, encodeNotification } from './notif-codec.js';
import { sealOrdered, sealParts, sealWhole, Unsealer } from './notif-envelope.js';

const LIMITS = { waitingBytesMax: 1 << 26, partialsMax: 16, earlyMax: 65_536 };

type Decoder = readonly [string, (bytes: Uint8Array) => unknown, readonly Uint8Array[]];
const { blob, xferDlist, regDlist, notification, listenerBodies } = METADATA_EXAMPLES;
const DECODERS: readonly Decoder[] = [
  ['metadata blob', (bytes) => encodeMetadata(decodeMetadata(bytes)), [blob]],
  ['transfer descriptor list', (bytes) => encodeXferDlist(decodeXferDlist(bytes)), [xferDlist]],
  ['registration descriptor list', (bytes) => encodeRegDlist(decodeRegDlist(bytes)), [regDlist]],
  ['notification', (bytes) => encodeNotification(decodeNotification(bytes)), [notification]],
  ['listener message', decodeListenerBody, listenerBodies],
  ['listener frame head', (bytes) => headOf(bytes), [Buffer.alloc(8, 1), Buffer.alloc(8)]],
];

function headOf(bytes: Uint8Array): number {
  const head = new Uint8Array(8);
  head.set(bytes.subarray(0, 8));
  const length = decodeFrameHead(head, 1000);
  assert.ok(length <= 1000);
  return length;
}

const big = new Uint8Array(150_000).fill(7);
const envelopes = [
  sealWhole(Buffer.from('x')),
  ...[1, 2, 3].flatMap((number) => sealOrdered(Buffer.from(`m${number}`), number)),
  ...sealParts(big, 4, true).map((part) => part.subarray(0, 40)),
  ...sealParts(big.subarray(0, 66_000), 1, false).slice(1),
];

export const FUZZ_TARGETS = [
  ...DECODERS.map(([name, decode, examples]) =>
    fuzzTarget(
      `${name}: a value that can be written again, or a wire error`,
      { runs: 1500 },
      mutatedBytes(examples),
      (bytes) => {
        decodesOrRefuses(decode, bytes, /^ERR_WIRE_/);
      },
    ),
  ),
  fuzzTarget(
    'notification envelopes: any sequence is delivered in order, or ends in a wire error',
    { runs: 800 },
    fc.array(mutatedBytes(envelopes), { maxLength: 20 }),
    (sequence) => {
      let delivered = 0;
      const unsealer = new Unsealer(() => delivered++, LIMITS);
      try {
        for (const bytes of sequence) unsealer.take(bytes);
      } catch (error) {
        if (!isTcpxError(error, 'ERR_WIRE_FRAME')) throw error;
      }
      assert.ok(delivered <= sequence.length);
    },
  ),
];
