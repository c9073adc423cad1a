// Messages about posted receives: any bytes are one that comes back as it went, or a wire error.

import assert from 'node:assert/strict';
import { decodesOrRefuses, fuzzTarget } from '../../test/support/fuzz-target.js';
import { mutatedBytes } from '../../test/support/mutated-bytes.js';
import {
  decodeMatch,
  encodeLanded,
  encodeOffer,
  encodeRefuse,
  MatchKind,
} from './match-message.js';

const target = { slot: 3, generation: 2, bytes: 4096, key: '0123456789abcdef'.repeat(2) };
const examples = [
  encodeOffer({ number: 1, tag: 7, target }),
  encodeLanded(1, 7, 4096),
  encodeRefuse(1, 7, 'ERR_XFER_SHORT'),
];

export const FUZZ_TARGETS = [
  fuzzTarget(
    'message about a receive: itself again, or a wire error',
    { runs: 3000 },
    mutatedBytes(examples),
    (bytes) => {
      const message = decodesOrRefuses(decodeMatch, bytes, /^ERR_WIRE_FRAME$/);
      if (message?.kind !== MatchKind.Offer) return;
      assert.deepEqual(decodeMatch(encodeOffer(message)), message);
    },
  ),
];
