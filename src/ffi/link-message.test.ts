// Messages about interfaces, with bytes as a kernel sends them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeLinkNews } from './link-message.js';
import { encodeAttributes, stringAttribute } from './netlink-message.js';

const UP = 0x1;
const RUNNING = 0x40;
const IFLA_IFNAME = 3;

function message(type: number, flags: number, name: string): Buffer {
  const attributes = encodeAttributes([
    { type: 13, value: Buffer.alloc(4) },
    stringAttribute(IFLA_IFNAME, name),
  ]);
  const bytes = Buffer.alloc(32 + attributes.length);
  bytes.writeUInt32LE(bytes.length, 0);
  bytes.writeUInt16LE(type, 4);
  bytes.writeUInt32LE(flags, 24);
  attributes.copy(bytes, 32);
  return bytes;
}

test('link news: up and running carries; set down, without carrier or deleted does not', () => {
  const datagram = Buffer.concat([
    message(16, UP | RUNNING, 'eth1'),
    message(16, RUNNING, 'eth2'),
    message(16, UP, 'eth3'),
    message(17, UP | RUNNING, 'eth4'),
    message(20, 0, 'an address'),
  ]);
  assert.deepEqual(decodeLinkNews(datagram), [
    { nic: 'eth1', isUp: true },
    { nic: 'eth2', isUp: false },
    { nic: 'eth3', isUp: false },
    { nic: 'eth4', isUp: false },
  ]);
});

test('link news: bytes that are cut off anywhere say nothing, and nothing wrong', () => {
  const whole = message(16, UP, 'eth1');
  for (let bytes = 0; bytes < whole.length; bytes++) {
    assert.deepEqual(decodeLinkNews(whole.subarray(0, bytes)), []);
  }
});
