// Contract of providers, part five: what may be done when. Regions in use, requests in flight,
// sessions that end, entries that are taken.

import assert from 'node:assert/strict';
import { isTcpxError } from '../../src/base/errors.js';
import type { Transfer } from '../../src/engine/transfer.js';
import { blocksOf, failure, moveBoth, type Row, withPlaces } from './provider-world.js';

const isState = (error: unknown): boolean => isTcpxError(error, 'ERR_USAGE_STATE');
const WAIT_MS = 20_000;

export function stateRows(row: Row): void {
  regionRows(row);
  closeRows(row);
  peerCloseRows(row);
  limitRows(row);
}

function regionRows(row: Row): void {
  row('deregister of a busy region is refused, or waits; then posts are refused', async (h, o) => {
    const pair = await o('slow');
    const local = pair.place(pair.initiator, h.slowBytes);
    const remote = pair.place(pair.target, h.slowBytes);
    const blocks = blocksOf(local, remote);
    local.fill(1);
    const request = pair.session.prepare('write', blocks);
    const transfer = request.post();
    const busy = await failure(pair.initiator.deregister(local.region, 0));
    assert.equal(busy.code, 'ERR_USAGE_REGION_BUSY');
    assert.equal(transfer.status, 'active', 'it goes on');
    const { done } = transfer;
    await pair.drive(pair.initiator.deregister(local.region, WAIT_MS));
    assert.equal(transfer.status, 'done', 'it was waited for');
    await pair.drive(done);
    assert.equal(remote.mismatches(1), 0);
    assert.throws(() => request.post(), isState);
    assert.throws(() => pair.session.write(blocks), isState);
    request.release();
    const twice = await failure(pair.initiator.deregister(local.region));
    assert.equal(twice.code, 'ERR_USAGE_STATE');
    await pair.drive(remote.release());
  });

  row(
    'deregister at the owner waits for what is in flight, or fails it; then silence',
    async (h, o) => {
      const pair = await o('slow');
      const local = pair.place(pair.initiator, h.slowBytes);
      const remote = pair.place(pair.target, h.slowBytes);
      local.fill(1);
      const transfer = pair.session.write(blocksOf(local, remote));
      const { done } = transfer;
      done.catch(() => undefined);
      await pair.pause(1);
      await pair.drive(pair.target.deregister(remote.region, WAIT_MS));
      remote.fill(2);
      const outcome = await pair.drive(done.catch((error: unknown) => error));
      if (isTcpxError(outcome)) assert.equal(outcome.code, 'ERR_PEER_STALE_REGION');
      await pair.pause(20);
      assert.equal(remote.mismatches(2), 0, 'no byte lands afterwards');
      await pair.drive(local.release());
    },
  );

  row(
    'release in flight is refused, a second one is nothing, then posts are refused',
    async (h, o) => {
      const pair = await o('slow');
      await withPlaces(pair, h.slowBytes, async ({ local, remote }) => {
        const request = pair.session.prepare('write', blocksOf(local, remote));
        const transfer = request.post();
        assert.throws(() => request.release(), isState);
        await pair.drive(transfer.done);
        request.release();
        request.release();
        assert.throws(() => request.post(), isState);
      });
    },
  );
}

function closeRows(row: Row): void {
  row(
    'a session that its owner closes fails what is in flight, with the cause',
    async (h, open) => {
      const pair = await open('slow');
      const { session, targetSession } = await pair.connect();
      await withPlaces(pair, h.slowBytes, async ({ local, remote }) => {
        const request = session.prepare('write', blocksOf(local, remote));
        const posted = [request.post(), session.read(blocksOf(local, remote))];
        const failing = posted.map(({ done }) => failure(done));
        await pair.drive(session.close());
        for (const error of await pair.drive(Promise.all(failing))) {
          assert.equal(error.code, 'ERR_XFER_FAILED', error.message);
          assert.ok(isTcpxError(error.cause, 'ERR_USAGE_STATE'), String(error.cause));
        }
        assert.equal(session.state, 'closed');
        assert.throws(() => request.post(), isState);
        assert.throws(() => session.write(blocksOf(local, remote)), isState);
        assert.throws(() => session.prepare('read', blocksOf(local, remote)), isState);
        assert.throws(() => session.notify('x'), isState);
        request.release();
        local.fill(1);
        // What was on its way lands at the peer until its end of the session is closed too.
        await pair.drive(targetSession.closed);
        remote.fill(2);
        await pair.pause(20);
        assert.equal(remote.mismatches(2), 0, 'no byte lands afterwards');
        assert.equal(local.mismatches(1), 0, 'no byte lands afterwards');
      });
    },
  );
}

function peerCloseRows(row: Row): void {
  row(
    'a session that the peer closes fails posts before and after, with the cause',
    async (h, o) => {
      const pair = await o('slow');
      const { session, targetSession } = await pair.connect();
      await withPlaces(pair, h.slowBytes, async ({ local, remote }) => {
        const request = session.prepare('write', blocksOf(local, remote));
        const failing = [
          failure(session.write(blocksOf(local, remote)).done),
          failure(session.read(blocksOf(local, remote)).done),
        ];
        await pair.drive(targetSession.close());
        for (const error of await pair.drive(Promise.all(failing))) {
          assert.equal(error.code, 'ERR_XFER_FAILED', error.message);
          assert.ok(isTcpxError(error.cause, 'ERR_PEER_GOODBYE'), String(error.cause));
        }
        await pair.drive(session.closed);
        const late = [
          session.write(blocksOf(local, remote)),
          session.read(blocksOf(local, remote), { deadlineMs: 1000 }),
          request.post({ notify: 'y' }),
          session.notify('x'),
        ];
        for (const { status, isReleased, done } of late) {
          assert.deepEqual([status, isReleased], ['failed', true]);
          const error = await failure(done);
          assert.equal(error.code, 'ERR_XFER_FAILED', error.message);
          assert.equal(error.cause, session.error, 'the loss that ended the session');
        }
        request.release();
        local.fill(1);
        await pair.pause(20);
        assert.equal(local.mismatches(1), 0, 'no byte lands afterwards');
      });
      await withPlaces(pair, 5000, async (places) => {
        await moveBoth(pair, places, 1);
      });
    },
  );
}

function limitRows(row: Row): void {
  row('one transfer more than memory.transfersMax is refused, and later taken', async (h, open) => {
    const pair = await open('few');
    await withPlaces(pair, 4096, async (places) => {
      const { local, remote } = places;
      await moveBoth(pair, places, 1);
      for (let round = 0; round < 3; round++) {
        const posted: Transfer[] = [];
        const flood = () => {
          for (let index = 0; index <= h.transfersMax; index++) {
            posted.push(pair.session.write(blocksOf(local, remote)));
          }
        };
        assert.throws(
          flood,
          (error) => isState(error) && /memory\.transfersMax/.test(String(error)),
        );
        assert.equal(posted.length, h.transfersMax);
        assert.throws(() => pair.session.notify('x'), isState);
        await pair.drive(Promise.all(posted.map(({ done }) => done)));
      }
      await moveBoth(pair, places, 2);
    });
  });
}
