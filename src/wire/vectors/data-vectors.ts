// Golden bytes of every data frame. `values` are the fields of the head by name; a field that is
// not named is zero. docs/protocol.md prints them.

export interface TableEntry {
  readonly offset: number;
  readonly bytes: number;
}

export interface DataVector {
  readonly name: string;
  readonly about: string;
  /** Of a session whose frames carry checks. */
  readonly isChecked?: true;
  /** Numbers little-endian; the key as it lies in memory. */
  readonly values: Readonly<Record<string, number | string>>;
  readonly table: readonly TableEntry[];
  readonly payload: string;
  /** Head, table and payload; blanks are for the eye. */
  readonly hex: string;
}

const KEY = '000102030405060708090a0b0c0d0e0f';
const REGION = { regionSlot: 7, regionGeneration: 3, regionKey: KEY };
const REGION_HEX = `07000000 03000000 ${KEY}`;
const NO_REGION_HEX = '00'.repeat(24);

export const DATA_VECTORS: readonly DataVector[] = [
  {
    name: 'WRITE',
    about: 'four bytes to one place, beyond 4 GiB',
    values: {
      kind: 1,
      payloadBytes: 4,
      acknowledged: 2,
      sequence: 9,
      transfer: 0x500000001,
      ...REGION,
      operationBytes: 4,
      offset: 0x100000010,
    },
    table: [],
    payload: 'deadbeef',
    hex:
      `01 000000 04000000 02000000 09000000 0100000005000000 00000000 ${REGION_HEX} ` +
      '04000000 1000000001000000 deadbeef',
  },
  {
    name: 'WRITE with a table',
    about: 'two blocks of one region in one operation',
    values: {
      kind: 1,
      payloadBytes: 4,
      sequence: 10,
      transfer: 0x500000001,
      tableEntries: 2,
      ...REGION,
      operationBytes: 4,
    },
    table: [
      { offset: 4096, bytes: 3 },
      { offset: 0x200000000, bytes: 1 },
    ],
    payload: '11223344',
    hex:
      `01 000200 04000000 00000000 0a000000 0100000005000000 00000000 ${REGION_HEX} ` +
      '04000000 0000000000000000 0010000000000000 03000000 00000000 ' +
      '0000000002000000 01000000 00000000 11223344',
  },
  {
    name: 'READ_REQUEST',
    about: 'asks for 65,536 bytes',
    values: {
      kind: 2,
      acknowledged: 1,
      sequence: 5,
      transfer: 0x600000002,
      ...REGION,
      operationBytes: 65536,
      offset: 512,
    },
    table: [],
    payload: '',
    hex:
      `02 000000 00000000 01000000 05000000 0200000006000000 00000000 ${REGION_HEX} ` +
      '00000100 0002000000000000',
  },
  {
    name: 'READ_DATA',
    about: 'answers request 5',
    values: { kind: 3, payloadBytes: 2, acknowledged: 4, sequence: 5, operationBytes: 2 },
    table: [],
    payload: 'cafe',
    hex:
      `03 000000 02000000 04000000 05000000 0000000000000000 00000000 ${NO_REGION_HEX} ` +
      '02000000 0000000000000000 cafe',
  },
  {
    name: 'NOTIFY',
    about: 'a message of three bytes',
    values: { kind: 4, payloadBytes: 3, sequence: 11, transfer: 0x500000001 },
    table: [],
    payload: '616263',
    hex:
      `04 000000 03000000 00000000 0b000000 0100000005000000 00000000 ${NO_REGION_HEX} ` +
      '00000000 0000000000000000 616263',
  },
  {
    name: 'ACK',
    about: 'everything before 12 has landed',
    values: { kind: 5, acknowledged: 12 },
    table: [],
    payload: '',
    hex:
      `05 000000 00000000 0c000000 00000000 0000000000000000 00000000 ${NO_REGION_HEX} ` +
      '00000000 0000000000000000',
  },
  {
    name: 'REFUSE',
    about: 'write 9 was refused: reason 4, beyond the bounds',
    values: { kind: 6, acknowledged: 9, sequence: 9, transfer: 0x100000004 },
    table: [],
    payload: '',
    hex:
      `06 000000 00000000 09000000 09000000 0400000001000000 00000000 ${NO_REGION_HEX} ` +
      '00000000 0000000000000000',
  },
  {
    name: 'SIGNAL',
    about: 'a FENCE: channel 2, epoch 0 is closed; 17 frames landed, none was refused',
    values: { kind: 7, payloadBytes: 24, acknowledged: 9, sequence: 4, transfer: 0x200000003 },
    table: [],
    payload: '01000000 02000000 00000000 11000000 00000000 00000000',
    hex:
      `07 000000 18000000 09000000 04000000 0300000002000000 00000000 ${NO_REGION_HEX} ` +
      '00000000 0000000000000000 01000000 02000000 00000000 11000000 00000000 00000000',
  },
  {
    name: 'READ_DATA to be confirmed',
    about: 'bit 0 of the flags: answers request 6 and holds its memory',
    values: { kind: 3, flags: 1, payloadBytes: 2, acknowledged: 4, sequence: 6, operationBytes: 2 },
    table: [],
    payload: 'cafe',
    hex:
      `03 010000 02000000 04000000 06000000 0000000000000000 00000000 ${NO_REGION_HEX} ` +
      '02000000 0000000000000000 cafe',
  },
  {
    name: 'ACK of answers',
    about: 'seven answers have landed, and every write before 12',
    values: { kind: 5, acknowledged: 12, sequence: 7 },
    table: [],
    payload: '',
    hex:
      `05 000000 00000000 0c000000 07000000 0000000000000000 00000000 ${NO_REGION_HEX} ` +
      '00000000 0000000000000000',
  },
  {
    name: 'WRITE with a table, checked',
    about: 'the same in a session whose frames carry checks: of payload, table and head',
    isChecked: true,
    values: {
      kind: 1,
      tableEntries: 2,
      payloadBytes: 4,
      sequence: 10,
      transfer: 0x500000001,
      headCheck: 0x62bc759e,
      ...REGION,
      operationBytes: 0x77f29dd1,
      offset: 0x8ffbef94,
    },
    table: [
      { offset: 4096, bytes: 3 },
      { offset: 0x200000000, bytes: 1 },
    ],
    payload: '11223344',
    hex:
      `01 000200 04000000 00000000 0a000000 0100000005000000 9e75bc62 ${REGION_HEX} ` +
      'd19df277 94effb8f00000000 0010000000000000 03000000 00000000 ' +
      '0000000002000000 01000000 00000000 11223344',
  },
  {
    name: 'NOTIFY, checked',
    about: 'the message of three bytes in a session whose frames carry checks',
    isChecked: true,
    values: {
      kind: 4,
      payloadBytes: 3,
      sequence: 11,
      transfer: 0x500000001,
      headCheck: 0xd46f312d,
      operationBytes: 0x352441c2,
    },
    table: [],
    payload: '616263',
    hex:
      `04 000000 03000000 00000000 0b000000 0100000005000000 2d316fd4 ${NO_REGION_HEX} ` +
      'c2412435 0000000000000000 616263',
  },
  {
    name: 'ACK, checked',
    about: 'credit of 16 chunks, in a session whose frames carry checks',
    isChecked: true,
    values: { kind: 5, acknowledged: 12, headCheck: 0x3d1bce2c, operationBytes: 16 },
    table: [],
    payload: '',
    hex:
      `05 000000 00000000 0c000000 00000000 0000000000000000 2cce1b3d ${NO_REGION_HEX} ` +
      '10000000 0000000000000000',
  },
];

export function bytesOfHex(hex: string): Uint8Array {
  return Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));
}
