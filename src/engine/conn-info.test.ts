import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../base/errors.js';
import { formatConnInfo, offeredHosts, parseConnInfo } from './conn-info.js';
import { formatRegion, parseRegion } from './region-text.js';

const isRefused = (error: unknown) => isTcpxError(error, 'ERR_WIRE_METADATA');
const INFO = { instance: '0123456789abcdef', port: 40123, hosts: ['10.0.0.7', 'fd00::7'] };
const TEXT = 'tcpx-conn/1 instance=0123456789abcdef port=40123 hosts=10.0.0.7,fd00::7';

test('conn info: golden text, both ways; unknown fields are left for later versions', () => {
  assert.equal(formatConnInfo(INFO), TEXT);
  assert.deepEqual(parseConnInfo(TEXT), INFO);
  assert.deepEqual(parseConnInfo(`${TEXT} later=1`), INFO);
});

const BAD = [
  '',
  'tcpx-conn/2 instance=0123456789abcdef port=1 hosts=10.0.0.7',
  TEXT.replace('40123', '0'),
  TEXT.replace('40123', '65536'),
  TEXT.replace('40123', '1e3'),
  TEXT.replace('10.0.0.7', 'host.example'),
  TEXT.replace('10.0.0.7', ''),
  TEXT.replace('0123456789abcdef', '0123456789ABCDEF'),
  TEXT.replace(' port', '  port'),
  `${TEXT} port=2`,
  `${TEXT}\n`,
  `${TEXT} x=${'y'.repeat(5000)}`,
  TEXT.replace('10.0.0.7', Array.from({ length: 17 }, () => '10.0.0.7').join(',')),
];

for (const text of BAD) {
  test(`conn info: ${JSON.stringify(text.slice(0, 70))} is refused`, () => {
    assert.throws(() => parseConnInfo(text), isRefused);
  });
}

test('conn info and region text: random texts never give anything but a typed refusal', () => {
  const anything = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...Array.from(TEXT)) }));
  fc.assert(
    fc.property(anything, (text) => {
      assert.throws(() => parseConnInfo(text), isRefused);
      assert.throws(() => parseRegion(text, 64), isRefused);
    }),
    { numRuns: 2000 },
  );
});

test('region text: golden text, both ways; another shape is refused', () => {
  const key = '0123456789abcdef0123456789abcdef';
  const region = { slot: 3, generation: 1, bytes: 64, key };
  const text = `tcpx-region/1 3 1 ${key}`;
  assert.equal(formatRegion(region), text);
  assert.deepEqual(parseRegion(text, 64), region);
  const bad = [text.slice(1), `${text}0`, text.replace(' 1 ', ' 0 '), text.replace('3', '03')];
  for (const wrong of [...bad, text.replace('3', '9999999999')]) {
    assert.throws(() => parseRegion(wrong, 64), isRefused);
  }
  for (const bytes of [0, -1, 1.5, 2 ** 53])
    assert.throws(() => parseRegion(text, bytes), isRefused);
});

test('offered hosts: the bound address, or every address that others can reach, IPv4 first', () => {
  const entry = (address: string, family: 'IPv4' | 'IPv6', internal = false) => {
    return { address, family, internal, netmask: '', mac: '', cidr: null, scopeid: 0 };
  };
  const interfaces = {
    lo: [entry('127.0.0.1', 'IPv4', true)],
    eth0: [entry('fd00::1', 'IPv6'), entry('fe80::1', 'IPv6'), entry('10.0.0.1', 'IPv4')],
    eth1: [entry('10.1.0.1', 'IPv4')],
  } as unknown as Parameters<typeof offeredHosts>[2];
  assert.deepEqual(offeredHosts('10.9.9.9', '', interfaces), ['10.9.9.9']);
  assert.deepEqual(offeredHosts('::', '', interfaces), ['10.0.0.1', '10.1.0.1', 'fd00::1']);
  assert.deepEqual(offeredHosts('0.0.0.0', 'eth1', interfaces), ['10.1.0.1']);
  assert.deepEqual(offeredHosts('::', '', {}), ['127.0.0.1']);
});
