// Contract of providers, part four: whatever is refused has the same code, whoever carries the
// bytes, costs nothing but itself and leaves no byte behind.

import assert from 'node:assert/strict';
import { type ErrorCode, isTcpxError } from '../../src/base/errors.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import {
  blocksOf,
  failure,
  type Grant,
  moveBoth,
  type Place,
  type ProviderPair,
  type Row,
  withPlaces,
} from './provider-world.js';

const BYTES = 10_000;
const EXPIRES_MS = 20;

interface Refusal {
  readonly name: string;
  readonly code: ErrorCode;
  readonly operations: readonly ('write' | 'read')[];
  readonly grant?: Grant;
  /** What the initiator believes about the region. */
  readonly forge?: (descriptor: RegionDescriptor) => RegionDescriptor;
  /** What happens to it before it is used. */
  readonly before?: (pair: ProviderPair, remote: Place) => Promise<void>;
}

const BOTH = ['write', 'read'] as const;
const REFUSALS: readonly Refusal[] = [
  {
    name: 'a region that is gone',
    code: 'ERR_PEER_STALE_REGION',
    operations: BOTH,
    before: (pair, remote) => pair.drive(pair.target.deregister(remote.region, 1000)),
  },
  {
    name: 'a generation that never was',
    code: 'ERR_PEER_STALE_REGION',
    operations: BOTH,
    forge: (descriptor) => ({ ...descriptor, generation: (descriptor.generation % 1000) + 1 }),
  },
  {
    name: 'another key',
    code: 'ERR_PEER_KEY',
    operations: BOTH,
    forge: (descriptor) => ({ ...descriptor, key: 'ab'.repeat(16) }),
  },
  {
    name: 'no right to write',
    code: 'ERR_PEER_RIGHTS',
    operations: ['write'],
    grant: { rights: { read: true, write: false } },
  },
  {
    name: 'no right to read',
    code: 'ERR_PEER_RIGHTS',
    operations: ['read'],
    grant: { rights: { read: false, write: true } },
  },
  {
    name: 'a descriptor that lies about the length',
    code: 'ERR_PEER_BOUNDS',
    operations: BOTH,
    forge: (descriptor) => ({ ...descriptor, bytes: 2 * BYTES }),
  },
  {
    name: 'a grant whose time is over',
    code: 'ERR_PEER_EXPIRED',
    operations: BOTH,
    grant: { expiresMs: EXPIRES_MS },
    before: (pair) => pair.pause(2 * EXPIRES_MS),
  },
];

async function assertRefused(pair: ProviderPair, refusal: Refusal): Promise<void> {
  const local = pair.place(pair.initiator, BYTES);
  const remote = pair.place(pair.target, BYTES, refusal.grant);
  local.fill(1);
  remote.fill(2);
  await refusal.before?.(pair, remote);
  const forge = refusal.forge ?? ((descriptor) => descriptor);
  const [block] = blocksOf(local, remote);
  assert.ok(block !== undefined);
  const believed = forge(block.remote);
  // The last byte lies where the owner has none, if the length is a lie.
  const remoteOffset = believed.bytes === BYTES ? 0 : 1;
  const bad = { ...block, remote: believed, remoteOffset };
  for (const operation of refusal.operations) {
    const transfer = pair.session[operation]([bad], { notify: 'never' });
    const error = await failure(pair.drive(transfer.done));
    assert.equal(error.code, refusal.code, `${operation}: ${error.message}`);
    assert.ok(error.message.includes(pair.session.peer), 'it names the peer');
    assert.equal(transfer.status, 'failed');
  }
  assert.equal(local.mismatches(1), 0, 'nothing was read');
  assert.equal(remote.mismatches(2), 0, 'nothing was written');
  assert.deepEqual(pair.notifications, []);
  await pair.drive(local.release());
  if (refusal.before === undefined || refusal.grant !== undefined) {
    await pair.drive(remote.release());
  }
  await withPlaces(pair, BYTES, async (places) => {
    await moveBoth(pair, places, 5);
  });
}

export function refusalRows(row: Row): void {
  for (const refusal of REFUSALS) {
    const verbs = refusal.operations.join(' and ');
    row(`${refusal.name}: ${verbs} is ${refusal.code}`, async (_, open) => {
      await assertRefused(await open('usual'), refusal);
    });
  }

  row('blocks out of bounds are refused at the post: ERR_USAGE_ARGUMENT', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, BYTES, ({ local, remote }) => {
      const [block] = blocksOf(local, remote);
      assert.ok(block !== undefined);
      const isRefused = (error: unknown): boolean => isTcpxError(error, 'ERR_USAGE_ARGUMENT');
      const wrong = [
        { bytes: 0 },
        { bytes: -1 },
        { bytes: 1.5 },
        { bytes: Number.NaN },
        { bytes: BYTES + 1 },
        { localOffset: 1 },
        { localOffset: -1 },
        { remoteOffset: 1 },
        { remoteOffset: -1 },
        { remoteOffset: 2 ** 53 },
        { remote: { ...block.remote, key: 'short' } },
      ];
      for (const change of wrong) {
        const text = JSON.stringify(change);
        assert.throws(() => pair.session.write([{ ...block, ...change }]), isRefused, text);
        assert.throws(() => pair.session.prepare('read', [{ ...block, ...change }]), isRefused);
      }
      assert.throws(() => pair.session.read([]), isRefused);
      return Promise.resolve();
    });
  });

  row('a refused block spoils its whole request, not its neighbours', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, BYTES, async ({ local, remote }) => {
      remote.fill(4);
      const [block] = blocksOf(local, remote);
      assert.ok(block !== undefined);
      const forged = { ...block.remote, key: 'cd'.repeat(16) };
      const blocks = [
        { ...block, bytes: 100 },
        { ...block, remote: forged, bytes: 100, localOffset: 200, remoteOffset: 200 },
      ];
      const refused = pair.session.write(blocks);
      local.fill(6);
      const other = pair.session.write([{ ...block, bytes: 64, remoteOffset: 5000 }]);
      const [error] = await Promise.all([
        failure(pair.drive(refused.done)),
        pair.drive(other.done),
      ]);
      assert.equal(error.code, 'ERR_PEER_KEY');
    });
  });
}
