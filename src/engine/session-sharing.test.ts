// Who shares memory with whom, by settings, hosts and what there is; and who falls back to TCP.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { PROOF_WORDS, SHM_BYTES } from '../provider/tcp/shm/shm-layout.js';
import { ShmLink } from '../provider/tcp/shm/shm-link.js';
import {
  besidePlugin,
  chooseSharing,
  type LocalWish,
  SessionSharing,
  SharedBudget,
  sharingFeatures,
} from './session-sharing.js';

const LINK = new ShmLink(4096, 'client', new Int32Array(PROOF_WORDS));
const WISHES: readonly LocalWish[] = ['tcp', 'auto', 'shm'];
const PLENTY = new SharedBudget(Number.POSITIVE_INFINITY);

function outcomeOf(client: LocalWish, server: LocalWish, isSameHost: boolean): string {
  const features = { client: sharingFeatures(client), server: sharingFeatures(server) };
  const ends = [
    () => chooseSharing('here', client, features.server, isSameHost, 'server'),
    () => chooseSharing('here', server, features.client, isSameHost, 'client'),
  ].map((choose) => {
    try {
      const { kind, reason } = choose();
      return `${kind}: ${reason}`;
    } catch (error) {
      assert.ok(withCode('ERR_CONFIG_MISMATCH', /session\.local: .* at the client/)(error));
      return 'refused';
    }
  });
  assert.equal(ends[0], ends[1], 'both ends come to the same');
  return ends[0] ?? '';
}

test('sharing: settings of both ends and their hosts decide', () => {
  const table = WISHES.flatMap((client) =>
    WISHES.map((server) => [client, server, outcomeOf(client, server, true)]),
  );
  assert.deepEqual(table, [
    ['tcp', 'tcp', 'never: session.local is tcp at both ends'],
    ['tcp', 'auto', 'never: session.local is tcp at the client'],
    ['tcp', 'shm', 'refused'],
    ['auto', 'tcp', 'never: session.local is tcp at the server'],
    ['auto', 'auto', 'tried: both ends are on one host'],
    ['auto', 'shm', 'demanded: session.local is shm'],
    ['shm', 'tcp', 'refused'],
    ['shm', 'auto', 'demanded: session.local is shm'],
    ['shm', 'shm', 'demanded: session.local is shm'],
  ]);
  assert.equal(outcomeOf('auto', 'auto', false), 'never: the ends are on two hosts');
  assert.match(outcomeOf('shm', 'auto', false), /^demanded/, 'and refused where it is not there');
});

test('sharing: what is tried and fails goes over TCP, by name, for all channels', () => {
  const sharing = new SessionSharing(
    'there',
    { kind: 'tried', isSameHost: true, reason: 'near' },
    2,
    PLENTY,
  );
  assert.ok(sharing.isWanted);
  assert.equal(sharing.settle('a border'), undefined);
  assert.ok(!sharing.isWanted);
  assert.equal(sharing.path, 'tcp host');
  assert.equal(sharing.reason, 'one host, but no shared memory: a border');
});

test('sharing: once a channel has memory the others must have it too', () => {
  const sharing = new SessionSharing(
    'there',
    { kind: 'tried', isSameHost: true, reason: 'near' },
    2,
    PLENTY,
  );
  assert.equal(sharing.settle(LINK), LINK);
  assert.deepEqual([sharing.path, sharing.reason], ['shm', 'near']);
  const refused = withCode('ERR_CAP_SHARED_MEMORY', /there: a border/);
  assert.throws(() => sharing.settle('a border'), refused);
  assert.ok(sharing.isWanted);
});

test('sharing: the budget of an engine is taken, given back once, and says no by its name', () => {
  const budget = new SharedBudget(3 * SHM_BYTES);
  const tried = { kind: 'tried', isSameHost: true, reason: 'near' } as const;
  const first = new SessionSharing('a', tried, 2, budget);
  const second = new SessionSharing('b', tried, 2, budget);
  assert.ok(first.isWanted && !second.isWanted);
  assert.match(second.reason, /memory\.sharedBytes/);
  const demanded = { kind: 'demanded', isSameHost: true, reason: 'asked' } as const;
  const refused = withCode('ERR_CAP_SHARED_MEMORY', /memory\.sharedBytes/);
  assert.throws(() => new SessionSharing('c', demanded, 2, budget), refused);
  second.end();
  first.end();
  first.end();
  assert.ok(new SessionSharing('d', tried, 3, budget).isWanted);
  assert.ok(!new SessionSharing('e', tried, 1, budget).isWanted);
});

test('sharing: a plugin carries the data by itself, unless memory is demanded', () => {
  assert.equal(besidePlugin({ kind: 'tried', isSameHost: true, reason: '' }).kind, 'never');
  assert.equal(besidePlugin({ kind: 'demanded', isSameHost: true, reason: '' }).kind, 'demanded');
});
