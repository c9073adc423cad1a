import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { chooseProvider, offeredFeatures, offerOf, type ProviderOffer } from './provider-choice.js';

const NEAR = new Uint8Array(16).fill(1);
const FAR = new Uint8Array(16).fill(2);

type Kind = 'tcp' | 'tcpx' | 'auto' | 'auto without';

function offer(kind: Kind, hostId: Uint8Array, isSameHostServed = false): ProviderOffer {
  const hasTcpx = kind === 'tcpx' || kind === 'auto';
  return { hasTcp: kind !== 'tcpx', hasTcpx, isSameHostServed, hostId };
}

test('provider: every pair of settings, far from each other', () => {
  const rows: readonly (readonly [Kind, Kind, string])[] = [
    ['tcp', 'tcp', 'tcp'],
    ['tcp', 'auto', 'tcp'],
    ['auto', 'tcp', 'tcp'],
    ['auto', 'auto', 'tcpx'],
    ['auto', 'auto without', 'tcp'],
    ['auto without', 'auto', 'tcp'],
    ['auto without', 'auto without', 'tcp'],
    ['tcpx', 'auto', 'tcpx'],
    ['auto', 'tcpx', 'tcpx'],
    ['tcpx', 'tcpx', 'tcpx'],
  ];
  for (const [client, server, provider] of rows) {
    const choice = chooseProvider(offer(client, NEAR), offer(server, FAR), 'peer');
    assert.equal(choice.provider, provider, `${client} and ${server}`);
  }
});

test('provider: an end that insists on what the other has not is refused by name', () => {
  for (const [client, server] of [
    ['tcpx', 'tcp'],
    ['tcp', 'tcpx'],
    ['tcpx', 'auto without'],
  ] as const) {
    const attempt = () => chooseProvider(offer(client, NEAR), offer(server, FAR), 'peer');
    assert.throws(attempt, withCode('ERR_CONFIG_MISMATCH', /engine\.provider: tcp.* only at the/));
  }
});

test('provider: on one host the plugin is not asked, unless both ends say that it serves', () => {
  const choose = (kind: Kind, isServed: boolean, isServedThere = isServed) =>
    chooseProvider(offer(kind, NEAR, isServed), offer(kind, NEAR, isServedThere), 'peer');
  assert.equal(choose('auto', false).provider, 'tcp');
  assert.match(choose('auto', false).reason, /one host/);
  assert.equal(choose('auto', true, false).provider, 'tcp');
  assert.equal(choose('auto', true).provider, 'tcpx');
  assert.equal(choose('tcpx', true).provider, 'tcpx');
  assert.throws(() => choose('tcpx', false), withCode('ERR_CONFIG_MISMATCH', /one host/));
});

test('provider: an offer survives its bits', () => {
  for (const kind of ['tcp', 'tcpx', 'auto'] as const) {
    const made = offer(kind, FAR, kind === 'tcpx');
    assert.deepEqual(offerOf(offeredFeatures(made) | 1 | 1024, FAR), made);
  }
});
