// Contract of providers, part three: cancel and abort are fences; after a deadline `released` is.

import assert from 'node:assert/strict';
import type { ErrorCode } from '../../src/base/errors.js';
import type { PostOptions } from '../../src/engine/session.js';
import type { Transfer } from '../../src/engine/transfer.js';
import {
  blocksOf,
  failure,
  moveBoth,
  type ProviderHarness,
  type ProviderPair,
  type Row,
  withPlaces,
} from './provider-world.js';

/** What was on its way would have landed by then. */
const QUIET_MS = 60;
const NEXT_BYTES = 5000;

/** Ends a long transfer early; once it is released its memory is left alone. */
async function endEarly(
  harness: ProviderHarness,
  pair: ProviderPair,
  code: ErrorCode,
  options: PostOptions,
  act: (transfer: Transfer) => Promise<void> | void,
): Promise<void> {
  await withPlaces(pair, harness.slowBytes, async ({ local, remote }) => {
    for (const operation of ['write', 'read'] as const) {
      const to = operation === 'write' ? remote : local;
      local.fill(1);
      remote.fill(2);
      const notify = 'never';
      const transfer = pair.session[operation](blocksOf(local, remote), { ...options, notify });
      const { done } = transfer;
      done.catch(() => undefined);
      await act(transfer);
      const error = await failure(pair.drive(done));
      assert.equal(error.code, code, error.message);
      assert.equal(transfer.status, 'failed');
      assert.equal(transfer.error, error);
      if (code === 'ERR_XFER_CANCELLED') assert.ok(transfer.isReleased, 'a cancel is a fence');
      await pair.drive(transfer.released);
      assert.ok(transfer.isReleased);
      assert.equal(transfer.error, error, 'whatever came after');
      to.fill(77);
      await pair.pause(QUIET_MS);
      assert.equal(to.mismatches(77), 0, 'no byte lands afterwards');
    }
    // What had landed before the cancel came was told in time, and is not taken back.
    pair.notifications.splice(0);
  });
  await withPlaces(pair, NEXT_BYTES, async (places) => {
    await moveBoth(pair, places, 3);
  });
}

export function endingRows(row: Row): void {
  cancelRows(row);
  deadlineRows(row);
}

function cancelRows(row: Row): void {
  row('cancel before anything has moved: ERR_XFER_CANCELLED, then silence', async (h, open) => {
    const pair = await open('slow');
    await endEarly(h, pair, 'ERR_XFER_CANCELLED', {}, (transfer) => transfer.cancel());
  });

  row('cancel in flight: ERR_XFER_CANCELLED, then silence', async (h, open) => {
    const pair = await open('slow');
    await endEarly(h, pair, 'ERR_XFER_CANCELLED', {}, async (transfer) => {
      await pair.pause(1);
      transfer.cancel();
      transfer.cancel();
    });
  });

  row('a signal that was aborted before the post: ERR_XFER_CANCELLED', async (h, open) => {
    const pair = await open('slow');
    const signal = AbortSignal.abort();
    await endEarly(h, pair, 'ERR_XFER_CANCELLED', { signal }, () => undefined);
  });

  row('a signal aborted in flight: ERR_XFER_CANCELLED', async (h, open) => {
    const pair = await open('slow');
    for (const [operation, seed] of [['write', 1] as const, ['read', 2] as const]) {
      await withPlaces(pair, h.slowBytes, async ({ local, remote }) => {
        local.fill(seed);
        const controller = new AbortController();
        const { signal } = controller;
        const transfer = pair.session[operation](blocksOf(local, remote), { signal });
        const { done } = transfer;
        done.catch(() => undefined);
        await pair.pause(1);
        controller.abort();
        assert.equal((await failure(pair.drive(done))).code, 'ERR_XFER_CANCELLED');
      });
    }
  });

  row('cancel after the end changes nothing', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, 5000, async ({ local, remote }) => {
      const controller = new AbortController();
      const options = { signal: controller.signal, deadlineMs: Number.POSITIVE_INFINITY };
      const transfer = pair.session.write(blocksOf(local, remote), options);
      await pair.drive(transfer.done);
      transfer.cancel();
      controller.abort();
      assert.equal(transfer.status, 'done');
      assert.equal((await transfer.done).bytesConfirmed, 5000);
    });
  });
}

function deadlineRows(row: Row): void {
  row('a deadline that passes: ERR_XFER_DEADLINE, then silence', async (h, open) => {
    const pair = await open('slow');
    await endEarly(h, pair, 'ERR_XFER_DEADLINE', { deadlineMs: 1 }, () => undefined);
  });

  row('a prepared request can be released after a deadline, and posted before', async (h, open) => {
    const pair = await open('slow');
    await withPlaces(pair, h.slowBytes, async ({ local, remote }) => {
      const request = pair.session.prepare('write', blocksOf(local, remote));
      const late = request.post({ deadlineMs: 1 });
      assert.equal((await failure(pair.drive(late.done))).code, 'ERR_XFER_DEADLINE');
      const next = request.post();
      assert.throws(() => request.release(), /1 transfers are in flight/);
      await pair.drive(next.done).catch((error: unknown) => {
        // What shares its channels with one that is given up may go with it.
        assert.equal(h.capability, 'matched', String(error));
      });
      request.release();
      await pair.drive(late.released);
      await pair.drive(next.released);
    });
  });
}
