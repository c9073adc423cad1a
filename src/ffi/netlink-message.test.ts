import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openGenericNetlink } from './netlink.js';
import {
  attributeNumber,
  CONTROL_FAMILY,
  decodeAnswer,
  decodeAttributes,
  encodeAttributes,
  encodeRequest,
  endsAnswer,
  numberAttribute,
  stringAttribute,
} from './netlink-message.js';

test('netlink: a request has the bytes that the kernel expects', () => {
  const message = encodeRequest(16, 3, false, [stringAttribute(2, 'netdev')]);
  assert.equal(
    message.toString('hex'),
    '20000000' +
      '1000' +
      '0500' +
      '01000000' +
      '00000000' +
      '03010000' +
      '0b000200' +
      '6e657464657600' +
      '00',
  );
});

test('netlink: attributes survive, with any value and padding', () => {
  const attribute = fc
    .tuple(fc.integer({ min: 1, max: 0x3fff }), fc.uint8Array({ maxLength: 40 }))
    .map(([type, bytes]) => ({ type, value: Buffer.from(bytes) }));
  fc.assert(
    fc.property(fc.array(attribute), (attributes) => {
      assert.deepEqual(decodeAttributes(encodeAttributes(attributes)), attributes);
    }),
  );
});

test('netlink: any bytes decode without an exception', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      decodeAnswer([Buffer.from(bytes)]);
      endsAnswer(Buffer.from(bytes));
      decodeAttributes(Buffer.from(bytes));
    }),
  );
});

test('netlink: numbers of every width', () => {
  const wide = Buffer.alloc(8);
  wide.writeBigUInt64LE(2n ** 40n + 5n);
  const attributes = [
    { type: 1, value: Buffer.from([7]) },
    { type: 2, value: Buffer.from([1, 1]) },
    numberAttribute(3, 70_000),
    { type: 4, value: wide },
  ];
  const numbers = [1, 2, 3, 4, 5].map((type) => attributeNumber(attributes, type));
  assert.deepEqual(numbers, [7, 257, 70_000, 2 ** 40 + 5, undefined]);
});

test('netlink: the kernel knows its own control family', () => {
  const socket = openGenericNetlink();
  assert.ok(typeof socket !== 'number');
  const answer = socket.request(
    encodeRequest(CONTROL_FAMILY, 3, false, [stringAttribute(2, 'nlctrl')]),
  );
  assert.ok(typeof answer !== 'number');
  const replies = decodeAnswer(answer);
  assert.ok(typeof replies !== 'number');
  assert.equal(attributeNumber(replies[0]?.attributes ?? [], 1), CONTROL_FAMILY);
  const unknown = socket.request(
    encodeRequest(CONTROL_FAMILY, 3, false, [stringAttribute(2, 'none')]),
  );
  assert.ok(typeof unknown !== 'number');
  assert.equal(decodeAnswer(unknown), 2, 'ENOENT');
  socket.close();
});
