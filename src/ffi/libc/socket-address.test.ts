import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { withCode } from '../../../test/support/expect-error.js';
import { decodeSocketAddress, encodeSocketAddress, isLoopbackHost } from './socket-address.js';

function roundTrip(host: string, port: number) {
  const view = new DataView(new ArrayBuffer(40));
  for (let index = 0; index < 40; index++) view.setUint8(index, 0xaa);
  const bytes = encodeSocketAddress(view, 4, { host, port });
  assert.equal(view.getUint8(4 + bytes), 0xaa, 'nothing is written behind the address');
  return { bytes, ...decodeSocketAddress(view, 4) };
}

const group = fc.integer({ min: 0, max: 0xffff });
const groups = fc.array(fc.oneof(fc.constant(0), group), { minLength: 8, maxLength: 8 });
const port = fc.integer({ min: 0, max: 65535 });

// What the platform's own URL parser makes of an IPv6 address: the canonical form.
function canonical(host: string): string {
  return new URL(`http://[${host}]/`).hostname.slice(1, -1);
}

test('socket address: IPv4 comes back as it went in', () => {
  const part = fc.integer({ min: 0, max: 255 });
  fc.assert(
    fc.property(fc.tuple(part, part, part, part), port, (parts, number) => {
      const host = parts.join('.');
      assert.deepEqual(roundTrip(host, number), { bytes: 16, host, port: number });
    }),
  );
});

test('socket address: any eight IPv6 groups come back in canonical form', () => {
  fc.assert(
    fc.property(groups, port, (values, number) => {
      // IPv4-mapped addresses come back dotted; another test has them.
      fc.pre(!(values.slice(0, 5).every((value) => value === 0) && values[5] === 0xffff));
      const host = values.map((value) => value.toString(16)).join(':');
      const result = roundTrip(host, number);
      assert.deepEqual(result, { bytes: 28, host: canonical(host), port: number });
    }),
  );
});

const FORMS: readonly (readonly [string, string])[] = [
  ['::', '::'],
  ['::1', '::1'],
  ['1::', '1::'],
  ['fe80::1%7', 'fe80::1%7'],
  ['2001:DB8::00ff', '2001:db8::ff'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
  ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ['1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:102:304'],
];

for (const [given, expected] of FORMS) {
  test(`socket address: ${given} comes back as ${expected}`, () => {
    assert.equal(roundTrip(given, 1).host, expected);
  });
}

test('socket address: a name or an empty text is refused', () => {
  for (const host of ['', 'localhost', '1.2.3', '1.2.3.4.5', ':::', '12345::']) {
    assert.throws(() => roundTrip(host, 1), withCode('ERR_USAGE_ARGUMENT'), host);
  }
});

test('socket address: an unknown family is refused', () => {
  assert.throws(() => decodeSocketAddress(new DataView(new ArrayBuffer(28)), 0));
});

test('socket address: loopback is 127/8 and ::1, nothing else', () => {
  for (const host of ['127.0.0.1', '127.9.9.9', '::1']) assert.ok(isLoopbackHost(host), host);
  for (const host of ['128.0.0.1', '10.127.0.1', '::', 'fe80::1', '::2']) {
    assert.ok(!isLoopbackHost(host), host);
  }
});
