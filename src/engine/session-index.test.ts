import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { type IndexedSession, SessionIndex } from './session-index.js';

const agreement = { channels: 2, windowChunks: 16, chunkBytes: 4096 };

function session(index: number, id: number, role: 'client' | 'server' = 'server'): IndexedSession {
  return { facts: { index, id, role, agreement, plan: { peers: 3 } } };
}

test('session index: the lowest free index is next, also after some have left', () => {
  const index = new SessionIndex<IndexedSession>(4);
  const made = [0, 1, 2, 3].map((id) => {
    const one = session(index.freeIndex(), id + 10);
    index.add(one);
    return one;
  });
  assert.deepEqual(
    made.map(({ facts }) => facts.index),
    [0, 1, 2, 3],
  );
  assert.throws(() => index.freeIndex(), withCode('ERR_WIRE_LIMIT', /session\.peersMax/));
  for (const gone of [made[2], made[1]]) if (gone !== undefined) index.remove(gone);
  assert.equal(index.freeIndex(), 1);
  index.add(session(1, 77));
  assert.equal(index.freeIndex(), 2);
  assert.deepEqual(
    index.list().map(({ facts }) => facts.id),
    [10, 77, 13],
  );
});

test('session index: a number is known where this end has chosen it, and while it lasts', () => {
  const index = new SessionIndex<IndexedSession>(4);
  const [server, client] = [session(0, 5), session(1, 5, 'client')];
  index.add(client);
  assert.equal(index.served(5), undefined);
  index.add(server);
  assert.equal(index.served(5), server);
  index.remove(client);
  assert.equal(index.served(5), server, 'the number of another’s making');
  index.remove(server);
  assert.equal(index.served(5), undefined);
  assert.equal(index.readsBytes, 0);
});
