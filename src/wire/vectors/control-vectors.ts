// Golden bytes of every control frame: what the encoder must produce and the decoder must take.
// docs/protocol.md prints them; change them only together with PROTOCOL_VERSION.

import { ControlKind, type ControlMessage } from '../control-frame.js';

export interface BodyField {
  readonly name: string;
  /** Length in this example; texts vary. */
  readonly bytes: number;
  readonly meaning: string;
}

export interface ControlVector {
  readonly name: string;
  readonly direction: string;
  readonly message: ControlMessage;
  /** Head and body; blanks are for the eye. */
  readonly hex: string;
  readonly body: readonly BodyField[];
}

const GENERATION = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const NONCE = new Uint8Array(32).fill(0xa5);
const PROOF = new Uint8Array(32).fill(0xc3);
const HOST_ID = new Uint8Array(16).fill(0x77);
const HOST_ID_HEX = '77'.repeat(16);
const NONCE_HEX = 'a5'.repeat(32);
const PROOF_HEX = 'c3'.repeat(32);

const TEXT = 'u16 length in bytes, then UTF-8';
const HELLO_BODY: readonly BodyField[] = [
  {
    name: 'features',
    bytes: 4,
    meaning:
      'bits; 1 shared memory, 2 tcp, 4 tcpx, 8 tcpx on one host, 16 has a secret, ' +
      '32 wants checks, 64 may share memory, 128 knows late channels; unknown ones are ignored',
  },
  { name: 'generation', bytes: 8, meaning: 'random, new whenever the engine opens' },
  { name: 'nonce', bytes: 32, meaning: 'random, fresh per connection' },
  { name: 'hostId', bytes: 16, meaning: 'equal at two ends on the same host' },
  { name: 'name', bytes: 4, meaning: `${TEXT}, at most 255` },
];
const AGREEMENT_BODY: readonly BodyField[] = [
  { name: 'channels', bytes: 4, meaning: 'data connections' },
  { name: 'windowChunks', bytes: 4, meaning: 'operations in flight per channel and direction' },
  { name: 'chunkBytes', bytes: 4, meaning: 'largest operation' },
];
const PROOF_FIELD: BodyField = { name: 'proof', bytes: 32, meaning: 'HMAC-SHA-256' };

export const CONTROL_VECTORS: readonly ControlVector[] = [
  {
    name: 'HELLO',
    direction: 'client → server',
    message: {
      kind: ControlKind.Hello,
      features: 0,
      generation: GENERATION,
      nonce: NONCE,
      hostId: HOST_ID,
      name: 'ab',
    },
    hex:
      `4e585450 0200 0100 40000000 00000000 00000000 0102030405060708 ${NONCE_HEX} ` +
      `${HOST_ID_HEX} 0200 6162`,
    body: HELLO_BODY,
  },
  {
    name: 'CHALLENGE',
    direction: 'server → client',
    message: {
      kind: ControlKind.Challenge,
      features: 3,
      generation: GENERATION,
      nonce: NONCE,
      hostId: HOST_ID,
      name: 'cd',
      proof: PROOF,
    },
    hex:
      `4e585450 0200 0200 60000000 00000000 03000000 0102030405060708 ${NONCE_HEX} ` +
      `${HOST_ID_HEX} 0200 6364 ${PROOF_HEX}`,
    body: [...HELLO_BODY, PROOF_FIELD],
  },
  {
    name: 'PROPOSE',
    direction: 'client → server',
    message: {
      kind: ControlKind.Propose,
      proof: PROOF,
      explicit: 5,
      channels: 4,
      windowChunks: 16,
      chunkBytes: 524288,
    },
    hex: `4e585450 0200 0300 30000000 00000000 ${PROOF_HEX} 05000000 04000000 10000000 00000800`,
    body: [
      PROOF_FIELD,
      {
        name: 'explicit',
        bytes: 4,
        meaning:
          'bits 0, 1, 2: channels, windowChunks, chunkBytes were set by hand; ' +
          'bit 3: channels is one for each NIC of the client; ' +
          'bit 4: the session begins with one of them',
      },
      ...AGREEMENT_BODY,
    ],
  },
  {
    name: 'ACCEPT',
    direction: 'server → client',
    message: {
      kind: ControlKind.Accept,
      proof: PROOF,
      sessionId: 0x01020304,
      channels: 2,
      windowChunks: 16,
      chunkBytes: 524288,
      addresses: ['::1', '10.0.0.1'],
    },
    hex:
      `4e585450 0200 0400 41000000 00000000 ${PROOF_HEX} ` +
      '04030201 02000000 10000000 00000800 0200 ' +
      '0300 3a3a31 0800 31302e302e302e31',
    body: [
      PROOF_FIELD,
      { name: 'sessionId', bytes: 4, meaning: 'chosen by the server, named by ATTACH' },
      ...AGREEMENT_BODY,
      { name: 'addressCount', bytes: 2, meaning: 'at most 16; 0: the address of this connection' },
      { name: 'addresses', bytes: 15, meaning: `each: ${TEXT}, at most 64` },
    ],
  },
  {
    name: 'REFUSE',
    direction: 'either, instead of an answer',
    message: { kind: ControlKind.Refuse, code: 'ERR_WIRE_AUTH', reason: 'no' },
    hex: '4e585450 0200 0500 13000000 00000000 0d00 4552525f574952455f41555448 0200 6e6f',
    body: [
      { name: 'code', bytes: 15, meaning: `${TEXT}, at most 64: an error code` },
      { name: 'reason', bytes: 4, meaning: `${TEXT}, at most 512` },
    ],
  },
  {
    name: 'ATTACH',
    direction: 'client → server, first frame of a data or a later control connection',
    message: {
      kind: ControlKind.Attach,
      sessionId: 0x01020304,
      channelIndex: 1,
      epoch: 0,
      nonce: NONCE,
      proof: PROOF,
    },
    hex:
      '4e585450 0200 0600 4c000000 00000000 04030201 01000000 00000000 ' +
      `${NONCE_HEX} ${PROOF_HEX}`,
    body: [
      { name: 'sessionId', bytes: 4, meaning: 'as accepted' },
      {
        name: 'channelIndex',
        bytes: 4,
        meaning: 'below channels; 2^32 − 1: control connection; 2^32 − 2: matched transfers',
      },
      { name: 'epoch', bytes: 4, meaning: 'counts the connections of the index from 0' },
      { name: 'nonce', bytes: 32, meaning: 'random' },
      PROOF_FIELD,
    ],
  },
  {
    name: 'ATTACHED',
    direction: 'server → client; data frames follow',
    message: { kind: ControlKind.Attached, proof: PROOF },
    hex: `4e585450 0200 0700 20000000 00000000 ${PROOF_HEX}`,
    body: [PROOF_FIELD],
  },
  {
    name: 'GOODBYE',
    direction: 'either, on the control connection',
    message: { kind: ControlKind.Goodbye, reason: 'bye' },
    hex: '4e585450 0200 0800 05000000 00000000 0300 627965',
    body: [{ name: 'reason', bytes: 5, meaning: `${TEXT}, at most 512` }],
  },
  {
    name: 'REDIAL',
    direction: 'server → client, on the control connection',
    message: { kind: ControlKind.Redial, channelIndex: 2, epoch: 5 },
    hex: '4e585450 0200 0900 08000000 00000000 02000000 05000000',
    body: [
      { name: 'channelIndex', bytes: 4, meaning: 'the channel that needs a new connection' },
      {
        name: 'epoch',
        bytes: 4,
        meaning: 'the connection that is lost or stands still; 0 for one that was never made',
      },
    ],
  },
  {
    name: 'TAKEN',
    direction: 'client → server, first frame behind ATTACHED on a later control connection',
    message: { kind: ControlKind.Taken, epoch: 3 },
    hex: '4e585450 0200 0a00 04000000 00000000 03000000',
    body: [{ name: 'epoch', bytes: 4, meaning: 'the epoch of its ATTACH' }],
  },
  {
    name: 'LOOKUP',
    direction: 'either, on the control connection',
    message: { kind: ControlKind.Lookup, lookupId: 7, name: 'in' },
    hex: '4e585450 0200 0b00 08000000 00000000 07000000 0200 696e',
    body: [
      { name: 'lookupId', bytes: 4, meaning: 'the asker’s choice; comes back in FOUND' },
      { name: 'name', bytes: 4, meaning: `${TEXT}, at most 255` },
    ],
  },
  {
    name: 'FOUND',
    direction: 'either, the answer to a LOOKUP',
    message: {
      kind: ControlKind.Found,
      lookupId: 7,
      bytes: 2 ** 32 + 2,
      region: `tcpx-region/1 3 1 ${'00'.repeat(16)}`,
    },
    hex:
      '4e585450 0200 0c00 40000000 00000000 07000000 02000000 01000000 ' +
      `3200 746370782d726567696f6e2f312033203120 ${'30'.repeat(32)}`,
    body: [
      { name: 'lookupId', bytes: 4, meaning: 'as asked' },
      { name: 'bytes', bytes: 8, meaning: 'length of the region; 0 where there is none' },
      {
        name: 'region',
        bytes: 52,
        meaning: `${TEXT}, at most 128: the region’s text; empty: no region has the name`,
      },
    ],
  },
];
