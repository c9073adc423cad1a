// Golden bytes, produced by a NIXL agent named agentA with one backend PROBE (connection info
// probe://agentA, region key PUB) and one DRAM region. Written by hand here, field by field, so
// that a mistake in the encoder cannot hide in the expectation.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  decodeRegDlist,
  decodeXferDlist,
  encodeRegDlist,
  encodeXferDlist,
} from './descriptor-codec.js';
import { decodeListenerBody, encodeListenerFrame, FRAME_HEAD_BYTES } from './listener-message.js';
import { MemType } from './memory-type.js';
import { type AgentMetadata, decodeMetadata, encodeMetadata } from './metadata.js';
import { decodeNotification, encodeNotification } from './notif-codec.js';
import { XferDlist } from './xfer-dlist.js';

/** Hex text with `00*7` for seven zero bytes. */
function bytesOf(...lines: string[]): Buffer {
  const hex = lines
    .join(' ')
    .split(/\s+/)
    .map((word) => {
      const [pair = '', times = '1'] = word.split('*');
      return pair.repeat(Number(times));
    })
    .join('');
  return Buffer.from(hex, 'hex');
}

const HEADER = '6e 69 78 6c 53 65 72 44 65 73 7c';
const AGENT = '41 67 65 6e 74 06 00*7 61 67 65 6e 74 41 7c';
const ONE_CONN = '43 6f 6e 6e 73 08 00*7 01 00*7 7c';
const NO_CONN = '43 6f 6e 6e 73 08 00*7 00*8 7c';
const CONN_PAIR =
  '74 05 00*7 50 52 4f 42 45 7c ' + '63 0e 00*7 70 72 6f 62 65 3a 2f 2f 61 67 65 6e 74 41 7c';
const MARK = '0a 00*7 4d 65 6d 53 65 63 74 69 6f 6e 7c';
const SECTIONS = '6e 69 78 6c 53 65 63 45 6c 6d 73 08 00*7';
const SECTION =
  '62 6b 6e 64 05 00*7 50 52 4f 42 45 7c ' +
  '6e 69 78 6c 44 4c 69 73 74 0a 00*7 6e 69 78 6c 53 44 4c 69 73 74 7c ' +
  '74 04 00*7 00 00 00 00 7c 6e 08 00*7 01 00*7 7c ' +
  '1b 00*7 00 10 00*6 00 01 00*6 00*8 50 55 42 7c';

const FULL = bytesOf(HEADER, AGENT, ONE_CONN, CONN_PAIR, MARK, SECTIONS, '01 00*7 7c', SECTION);
const REGION_ONLY = bytesOf(HEADER, AGENT, NO_CONN, MARK, SECTIONS, '01 00*7 7c', SECTION);
const CONN_ONLY = bytesOf(HEADER, AGENT, ONE_CONN, CONN_PAIR, MARK, SECTIONS, '00*8 7c');

const connection = { type: 'PROBE', info: Buffer.from('probe://agentA') };
const section = {
  type: 'PROBE',
  memType: MemType.DRAM,
  descs: [{ addr: 0x1000, len: 0x100, devId: 0, metaInfo: Buffer.from('PUB') }],
};
const full: AgentMetadata = { agent: 'agentA', connections: [connection], sections: [section] };

function plain(metadata: AgentMetadata): unknown {
  return JSON.parse(
    JSON.stringify(metadata, (_key, value: unknown) => {
      if (value instanceof Uint8Array) return Array.from(value);
      const json = value as { type?: unknown; data?: unknown } | null;
      return json !== null && typeof json === 'object' && json.type === 'Buffer'
        ? json.data
        : value;
    }),
  );
}

test('metadata: full blob equals NIXL’s 253 bytes, both ways', () => {
  assert.equal(FULL.length, 253);
  assert.deepEqual(Buffer.from(encodeMetadata(full)), FULL);
  assert.deepEqual(plain(decodeMetadata(FULL)), plain(full));
});

test('metadata: partial blob without connection info equals NIXL’s 214 bytes', () => {
  const partial = { ...full, connections: [] };
  assert.equal(REGION_ONLY.length, 214);
  assert.deepEqual(Buffer.from(encodeMetadata(partial)), REGION_ONLY);
  assert.deepEqual(plain(decodeMetadata(REGION_ONLY)), plain(partial));
});

test('metadata: partial blob of an empty list equals NIXL’s 139 bytes', () => {
  const partial = { ...full, sections: [] };
  assert.equal(CONN_ONLY.length, 139);
  assert.deepEqual(Buffer.from(encodeMetadata(partial)), CONN_ONLY);
  assert.deepEqual(plain(decodeMetadata(CONN_ONLY)), plain(partial));
});

test('descriptor list: VRAM transfer list equals NIXL’s 128 bytes', () => {
  const golden = bytesOf(
    HEADER,
    '6e 69 78 6c 44 4c 69 73 74 0a 00*7 6e 69 78 6c 42 44 4c 69 73 74 7c',
    '74 04 00*7 01 00 00 00 7c 6e 08 00*7 02 00*7 7c',
    '30 00*7 00 20 00*6 40 00*7 03 00*7 00 30 00*6 80 00*7 03 00*7 7c',
  );
  const list = new XferDlist(MemType.VRAM).add(0x2000, 64, 3).add(0x3000, 128, 3);
  assert.equal(golden.length, 128);
  assert.deepEqual(Buffer.from(encodeXferDlist(list)), golden);
  const decoded = decodeXferDlist(golden);
  assert.equal(decoded.memType, MemType.VRAM);
  assert.deepEqual([decoded.at(0), decoded.at(1)], [list.at(0), list.at(1)]);
});

test('descriptor list: an empty transfer list has no body element', () => {
  const bytes = encodeXferDlist(new XferDlist(MemType.DRAM));
  assert.equal(bytes.length, 11 + 28 + 14 + 18);
  assert.equal(decodeXferDlist(bytes).count, 0);
});

test('descriptor list: regions round-trip with keys, zero bytes and empty keys', () => {
  const list = {
    memType: MemType.VRAM,
    descs: [
      { addr: 2 ** 46, len: 4096, devId: 7, metaInfo: Uint8Array.of(0, 1, 0, 255, 0x7c) },
      { addr: 0, len: 1, devId: 0, metaInfo: new Uint8Array(0) },
    ],
  };
  assert.deepEqual(decodeRegDlist(encodeRegDlist(list)), list);
});

test('notification: empty message from agentA equals the 42 bytes of NIXL’s UCX engine', () => {
  const golden = bytesOf(HEADER, '6e 61 6d 65 06 00*7 61 67 65 6e 74 41 7c', '6d 73 67 00*8 7c');
  assert.equal(golden.length, 42);
  const notification = { agent: 'agentA', message: new Uint8Array(0) };
  assert.deepEqual(Buffer.from(encodeNotification(notification)), golden);
  assert.deepEqual(decodeNotification(golden), notification);
});

test('listener: pull is 21 bytes, the answer 274 with the blob behind NIXLCOMM:LOAD', () => {
  const pull = Buffer.from(encodeListenerFrame({ verb: 'SEND' }));
  assert.deepEqual(pull, Buffer.concat([bytesOf('0d 00*7'), Buffer.from('NIXLCOMM:SEND')]));
  const answer = Buffer.from(encodeListenerFrame({ verb: 'LOAD', blob: FULL }));
  const head = bytesOf('0a 01 00*6');
  assert.deepEqual(answer, Buffer.concat([head, Buffer.from('NIXLCOMM:LOAD'), FULL]));
  const [message] = decodeListenerBody(answer.subarray(FRAME_HEAD_BYTES));
  assert.equal(message?.verb, 'LOAD');
  assert.deepEqual(message.blob, FULL);
});
