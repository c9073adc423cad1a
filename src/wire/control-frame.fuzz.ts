// Control frames: any bytes are a message or a wire error, and a message is its bytes.

import assert from 'node:assert/strict';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import {
  CONTROL_BODY_BYTES_MAX,
  CONTROL_HEAD_BYTES,
  ControlKind,
  type ControlMessage,
  decodeControlBody,
  decodeControlHead,
  encodeControl,
} from './control-frame.js';
import { CONTROL_VECTORS } from './vectors/control-vectors.js';
import { bytesOfHex } from './vectors/data-vectors.js';

const examples = CONTROL_VECTORS.map((vector) => bytesOfHex(vector.hex));

function decodeFrame(bytes: Uint8Array): ControlMessage | undefined {
  const head = decodeControlHead(bytes);
  if (head === undefined) return undefined;
  assert.ok(head.bodyBytes <= CONTROL_BODY_BYTES_MAX);
  const body = bytes.slice(CONTROL_HEAD_BYTES, CONTROL_HEAD_BYTES + head.bodyBytes);
  return body.length < head.bodyBytes ? undefined : decodeControlBody(head.kind, body);
}

export const FUZZ_TARGETS = [
  fuzzTarget(
    'control frame: a message or a wire error',
    { runs: 4000 },
    mutatedBytes(examples),
    (bytes) => {
      const message = decodesOrRefuses(decodeFrame, bytes, /^ERR_WIRE_/);
      if (message === undefined) return;
      // Reasons are cut when they are written.
      if (message.kind === ControlKind.Refuse || message.kind === ControlKind.Goodbye) return;
      const again = encodeControl(message);
      assert.deepEqual(again, Uint8Array.from(bytes.subarray(0, again.length)));
    },
  ),
];
