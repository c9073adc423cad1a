// Contract of providers, part one: bytes, requests that are posted again, ways to wait, receipts.

import assert from 'node:assert/strict';
import { blocksOf, moveBoth, type Row, withPlaces } from './provider-world.js';

const POSTS = 5;
const FAR_BYTES = 1024 * 1024;

export function moveRows(row: Row): void {
  byteRows(row);
  postRows(row);
  waitRows(row);
  wayRows(row);
}

function byteRows(row: Row): void {
  row('bytes arrive as sent, written and read, in one block and in several', async (h, open) => {
    const pair = await open('usual');
    for (const [index, bytes] of h.sizes.entries()) {
      await withPlaces(pair, bytes, async (places) => {
        const [written, read] = await moveBoth(pair, places, 2 * index + 1);
        for (const receipt of [written, read]) assert.equal(receipt.bytesConfirmed, bytes);
        if (bytes >= 7) await moveBoth(pair, places, 2 * index + 51, 7);
      });
    }
  });

  row('both ends write and read', async (h, open) => {
    const pair = await open('usual');
    const bytes = h.sizes.at(-1) ?? 0;
    await withPlaces(pair, bytes, async (places) => {
      await moveBoth(pair, places, 5);
      const turned = { local: places.remote, remote: places.local };
      const [written] = await moveBoth(pair, turned, 8, 1, pair.targetSession);
      assert.equal(written.provider, h.provider);
    });
  });
}

function postRows(row: Row): void {
  row('a request is prepared once and posted often; later posts describe nothing', async (h, o) => {
    const pair = await o('usual');
    await withPlaces(pair, 100_003, async ({ local, remote }) => {
      for (const operation of ['write', 'read'] as const) {
        const request = pair.session.prepare(operation, blocksOf(local, remote, 3));
        const [from, to] = operation === 'write' ? [local, remote] : [remote, local];
        const counts: number[] = [];
        for (let post = 0; post < POSTS; post++) {
          from.fill(post + 1);
          to.fill(99);
          const before = pair.planFrames();
          const receipt = await pair.drive(request.post().done);
          counts.push(pair.planFrames() - before);
          assert.equal(to.mismatches(post + 1), 0, `post ${post}`);
          assert.equal(receipt.chunks, request.chunkCount);
        }
        const first = h.capability === 'matched' ? 1 : 0;
        assert.deepEqual(counts, [first, ...Array<number>(POSTS - 1).fill(0)]);
        request.release();
      }
    });
  });

  row('several posts of one request are in flight at once', async (_, open) => {
    const pair = await open('usual');
    await withPlaces(pair, 50_000, async ({ local, remote }) => {
      local.fill(3);
      const request = pair.session.prepare('write', blocksOf(local, remote));
      const posted = Array.from({ length: 8 }, () => request.post().done);
      await pair.drive(Promise.all(posted));
      assert.equal(remote.mismatches(3), 0);
      request.release();
    });
  });
}

function waitRows(row: Row): void {
  row('poll sees the end; nobody awaits', async (h, open) => {
    const pair = await open('usual');
    await withPlaces(pair, 100_003, async (places) => {
      await moveBoth(pair, places, 1);
      const { local, remote } = places;
      for (const [operation, seed] of [['write', 7] as const, ['read', 8] as const]) {
        const [from, to] = operation === 'write' ? [local, remote] : [remote, local];
        from.fill(seed);
        const transfer = pair.session[operation](blocksOf(local, remote));
        const endMs = performance.now() + 20_000;
        while (transfer.poll() === 'active') {
          assert.ok(performance.now() < endMs, `${operation} ends`);
          // Virtual time passes only when it is told to.
          if (h.openFar === undefined) await pair.pause(0.1);
          else pair.target.poll();
        }
        assert.equal(transfer.status, 'done');
        assert.equal(to.mismatches(seed), 0);
        assert.equal((await transfer.done).bytes, 100_003, 'done tells it afterwards too');
      }
    });
  });

  row('wait blocks the thread until the end, or its time is over', async (h, open) => {
    if (h.openFar === undefined) {
      const pair = await open('usual');
      await withPlaces(pair, 1000, async ({ local, remote }) => {
        const transfer = pair.session.write(blocksOf(local, remote));
        assert.equal(transfer.wait(0), 'active');
        await pair.drive(transfer.done);
        assert.equal(transfer.wait(0), 'done');
      });
      return;
    }
    const far = await h.openFar(FAR_BYTES);
    const local = far.place(FAR_BYTES);
    const remote = { ...local, region: { ...local.region, descriptor: far.descriptor } };
    local.fill(5);
    assert.equal((await far.session.write(blocksOf(local, remote)).done).provider, h.provider);
    const write = far.session.write(blocksOf(local, remote));
    assert.equal(write.wait(20_000), 'done');
    local.fill(6);
    const read = far.session.read(blocksOf(local, remote));
    assert.equal(read.wait(20_000), 'done');
    assert.equal(local.mismatches(5), 0, 'what was written came back');
    const startMs = performance.now();
    far.session.read(blocksOf(local, remote)).wait(0);
    assert.ok(performance.now() - startMs < 2000, 'no time is no time');
    await far.close();
  });
}

function wayRows(row: Row): void {
  row('the receipt tells provider, reason, path, bytes, chunks and channels', async (h, open) => {
    const pair = await open('usual');
    const bytes = h.sizes.at(-1) ?? 0;
    await withPlaces(pair, bytes, async (places) => {
      for (const receipt of await moveBoth(pair, places, 4)) {
        assert.equal(receipt.provider, h.provider);
        assert.notEqual(receipt.providerReason, '');
        assert.equal(receipt.path, h.path);
        assert.equal(receipt.bytes, bytes);
        assert.ok(receipt.durationUs > 0);
        const sum = (key: 'bytes' | 'chunks') =>
          receipt.channels.reduce((total, channel) => total + channel[key], 0);
        assert.equal(sum('bytes'), bytes);
        assert.equal(sum('chunks'), receipt.chunks);
        assert.equal(receipt.plugin !== undefined, h.capability === 'matched');
        assert.match(receipt.peer, /^\S+ \(.+\)$/);
      }
    });
  });

  row('memory that a plugin does not reach goes over tcp, and says so', async (h, open) => {
    const pair = await open('usual');
    const local = pair.plain(pair.initiator, 70_001);
    const remote = pair.plain(pair.target, 70_001);
    for (const receipt of await moveBoth(pair, { local, remote }, 9, 3)) {
      assert.equal(receipt.provider, 'tcp');
      assert.equal(receipt.plugin, undefined);
      if (h.capability === 'addressed') assert.equal(receipt.path, h.path);
      else assert.match(receipt.providerReason, /^region \d+ is host memory that is not shared$/);
    }
    await withPlaces(pair, 70_001, async (own) => {
      // The far end alone is out of reach.
      const [written] = await moveBoth(pair, { local: own.local, remote }, 11);
      assert.equal(written.provider, 'tcp');
      if (h.capability === 'matched') {
        assert.match(
          written.providerReason,
          /^region \d+ of the peer is memory that is not shared$/,
        );
      }
      const [after] = await moveBoth(pair, own, 12);
      assert.equal(after.provider, h.provider, 'the next one goes its own way');
    });
    await pair.drive(local.release());
    await pair.drive(remote.release());
  });

  row('a request of mixed memory goes one way as a whole: over tcp', async (h, open) => {
    const pair = await open('usual');
    const plain = pair.plain(pair.initiator, 40_000);
    await withPlaces(pair, 40_000, async ({ local, remote }) => {
      local.fill(1);
      plain.fill(1);
      remote.fill(2);
      const [whole] = blocksOf(local, remote);
      assert.ok(whole !== undefined);
      const half = { ...whole, bytes: 20_000 };
      const mixed = [
        half,
        { ...half, local: plain.region, localOffset: 20_000, remoteOffset: 20_000 },
      ];
      const receipt = await pair.drive(pair.session.write(mixed).done);
      assert.equal(receipt.provider, 'tcp');
      if (h.capability === 'matched') assert.match(receipt.providerReason, /not shared/);
      assert.equal(remote.mismatches(1), 0);
    });
    await pair.drive(plain.release());
  });
}
