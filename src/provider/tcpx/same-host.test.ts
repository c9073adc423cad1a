import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handleAddress, requireOtherHost, sameHostEvidence } from './same-host.js';

const own = { bootId: 'a', addresses: ['10.0.0.1', 'fe80::1'] };
const stranger = { bootId: 'b', addresses: ['10.0.0.2'] };

test('same host: by its boot, by an address of ours, by loopback; else not', () => {
  assert.equal(sameHostEvidence(own, stranger), '');
  assert.match(sameHostEvidence(own, { ...stranger, bootId: 'a' }), /boot a/);
  assert.match(sameHostEvidence(own, { ...stranger, addresses: ['10.0.0.1'] }), /^10\.0\.0\.1 /);
  assert.match(
    sameHostEvidence(own, { ...stranger, addresses: ['127.0.0.11'] }),
    /^127\.0\.0\.11 /,
  );
});

test('same host: what is not known says nothing', () => {
  const unknown = { bootId: '', addresses: [] };
  assert.equal(sameHostEvidence(unknown, unknown), '');
  assert.equal(sameHostEvidence(own, unknown), '');
});

test('same host: the refusal has its own code and says why', () => {
  requireOtherHost(own, stranger, 'eth1');
  assert.throws(() => requireOtherHost(own, own, 'eth1'), {
    code: 'ERR_PEER_SAME_HOST',
    message: /eth1: the peer is on this host .*rx no cmsg/,
  });
});

test('same host: the address in a handle, where it is laid out as known', () => {
  const handle = Buffer.alloc(128);
  handle.writeUInt16LE(2, 0);
  handle.writeUInt16BE(40_000, 2);
  handle.set([10, 1, 2, 3], 4);
  assert.equal(handleAddress(handle.toString('hex')), '10.1.2.3');
  handle.writeUInt16LE(10, 0);
  assert.equal(handleAddress(handle.toString('hex')), '');
  assert.equal(handleAddress('00'), '');
  assert.equal(handleAddress('zz'), '');
});
