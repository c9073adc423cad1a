// Contract of providers, part six: a channel is lost in mid-transfer. Addressed channels take over
// from each other; what was handed to a matched one fails with a typed error, and the next one
// works.

import assert from 'node:assert/strict';
import { isTcpxError } from '../../src/base/errors.js';
import { blocksOf, failure, moveBoth, type Row, withPlaces } from './provider-world.js';

const TRIES = 3;

export function faultRows(row: Row): void {
  row('a channel is lost in flight: another takes over, or a typed error', async (h, open) => {
    const pair = await open('slow');
    await withPlaces(pair, h.slowBytes, async (places) => {
      const { local, remote } = places;
      for (const operation of ['write', 'read'] as const) {
        const [from, to] = operation === 'write' ? [local, remote] : [remote, local];
        from.fill(1);
        to.fill(2);
        const { done } = pair.session[operation](blocksOf(local, remote));
        done.catch(() => undefined);
        // A plugin may be done within any pause.
        if (h.capability === 'addressed') await pair.pause(1);
        pair.breakChannel();
        if (h.onLostChannel === 'another takes over') {
          assert.equal((await pair.drive(done)).bytesConfirmed, h.slowBytes);
          assert.equal(to.mismatches(1), 0);
          continue;
        }
        const error = await failure(pair.drive(done));
        assert.match(error.code, /^ERR_(XFER_FAILED|PEER_LOST|NCCLNET_EXIT)$/);
        assert.ok(error.isRetryable, error.message);
        to.fill(3);
        await pair.pause(20);
        assert.equal(to.mismatches(3), 0, 'no byte lands afterwards');
        await moveAgain(() => moveBoth(pair, places, 5));
      }
    });
  });
}

/** News of the loss may come late and cost one more: its error says to try again. */
async function moveAgain(move: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; tries < TRIES; tries++) {
    try {
      await move();
      return;
    } catch (error) {
      assert.ok(isTcpxError(error) && error.isRetryable, 'an error that says to try again');
    }
  }
  await move();
}
