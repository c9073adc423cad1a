// Contract, part three: release, cancel, stale and foreign keys, peers that go and come back.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isTcpxError } from '../../src/base/errors.js';
import type { XferHandle } from '../../src/nixl/backend.js';
import { XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';
import {
  assertStatus,
  type ContractPeer,
  type ContractTest,
  type ContractWorld,
  introduce,
  loadTarget,
  notifications,
  pattern,
  post,
  prepare,
  type Region,
  register,
  type Target,
  untilDone,
} from './backend-world.js';

const BIG = 16 << 20;

async function pair(world: ContractWorld, byteCount: number) {
  const [a, b] = [await world.openPeer('a'), await world.openPeer('b')];
  introduce(a, b);
  const memType = world.memTypes[0]!;
  const source = await register(a, memType, byteCount, 1);
  const owned = await register(b, memType, byteCount, 2);
  return { a, b, source, owned, target: loadTarget(a, b, owned) };
}

/** A pair whose connection stands, so that a post is in flight at once. */
async function connectedPair(world: ContractWorld, byteCount: number) {
  const parts = await pair(world, byteCount);
  const { a, b, source, target } = parts;
  const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 1]], [[target, 0, 1]]);
  assertStatus(await untilDone(a, handle, post(a, handle), undefined, [b]), NixlStatus.SUCCESS);
  assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  return parts;
}

/** Posts what should be refused; a refusal may come from prepXfer, the post or the owner. */
async function outcome(a: ContractPeer, b: ContractPeer, make: () => XferHandle): Promise<number> {
  let handle: XferHandle;
  try {
    handle = make();
  } catch (error) {
    assert.ok(isTcpxError(error), String(error));
    return NixlStatus.ERR_BACKEND;
  }
  const status = await untilDone(a, handle, post(a, handle), undefined, [b]);
  assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  return status;
}

export function lifecycleContract(contractTest: ContractTest): void {
  releaseContract(contractTest);
  keyContract(contractTest);
  peerContract(contractTest);
  successorContract(contractTest);
}

function releaseContract(contractTest: ContractTest): void {
  contractTest('connect: idempotent, to a peer and to itself', async (w) => {
    const { a } = await pair(w, 64);
    await a.backend.connect('b');
    await a.backend.connect('b');
    if (a.backend.supportsLocal) await a.backend.connect('a');
  });

  contractTest('release: a handle never posted, and one that ended', async (w) => {
    const { a, b, source, target } = await pair(w, 64);
    const idle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]);
    assertStatus(a.backend.releaseReqH(idle), NixlStatus.SUCCESS);
    const done = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]);
    await untilDone(a, done, post(a, done), undefined, [b]);
    assertStatus(a.backend.releaseReqH(done), NixlStatus.SUCCESS);
  });

  contractTest('release: in flight, no byte moves once it succeeded', async (w) => {
    const { a, b, source, owned, target } = await connectedPair(w, BIG);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, BIG]], [[target, 0, BIG]]);
    post(a, handle);
    let status = a.backend.releaseReqH(handle);
    for (const stop = Date.now() + 20_000; status < 0; ) {
      assert.ok(Date.now() < stop, 'the release succeeds in the end');
      await sleep(1);
      b.backend.getNotifs?.();
      status = a.backend.releaseReqH(handle);
    }
    const before = Buffer.from(owned.memory.read(0, BIG));
    source.memory.write(0, pattern(BIG, 99));
    await sleep(50);
    b.backend.getNotifs?.();
    assert.ok(before.equals(owned.memory.read(0, BIG)), 'the target is left alone');
  });

  contractTest('cancel: ends as CANCELED, or as SUCCESS when it came too late', async (w) => {
    const { a, b, source, target } = await connectedPair(w, BIG);
    const cancel = a.backend.cancelXfer?.bind(a.backend);
    if (cancel === undefined) return;
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, BIG]], [[target, 0, BIG]]);
    const posted = post(a, handle);
    cancel(handle);
    const status = await untilDone(a, handle, posted, undefined, [b]);
    assert.ok(status === NixlStatus.ERR_CANCELED || status === NixlStatus.SUCCESS);
    // The handle is as good as new.
    assertStatus(await untilDone(a, handle, post(a, handle), undefined, [b]), NixlStatus.SUCCESS);
    assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  });
}

function keyContract(contractTest: ContractTest): void {
  contractTest('keys: a region that its owner deregistered is refused', async (w) => {
    const { a, b, source, owned, target } = await pair(w, 64);
    await b.backend.deregisterMem(owned.md);
    const before = Buffer.from(owned.memory.read(0, 64));
    const status = await outcome(a, b, () =>
      prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]),
    );
    assert.ok(status < 0);
    assert.ok(before.equals(owned.memory.read(0, 64)), 'not a byte was written');
  });

  contractTest('keys: a changed key is refused', async (w) => {
    const { a, b, source, owned } = await pair(w, 64);
    for (let at = 0; at < owned.publicData.length; at += 7) {
      const publicData = Uint8Array.from(owned.publicData);
      publicData[at]! ^= 0x55;
      const before = Buffer.from(owned.memory.read(0, 64));
      const status = await outcome(a, b, () => {
        const forged = loadTarget(a, b, { ...owned, publicData });
        return prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[forged, 0, 64]]);
      });
      assert.ok(status < 0, `byte ${at} of the key`);
      assert.ok(before.equals(owned.memory.read(0, 64)), 'not a byte was written');
    }
  });

  contractTest('bounds: a range beyond the region is refused by its owner', async (w) => {
    const { a, b, source, target } = await pair(w, 64);
    const wide: Region = source;
    const reach: [Target, number, number][] = [[target, 32, 64]];
    const status = await outcome(a, b, () => prepare(a, XferOp.WRITE, 'b', [[wide, 0, 64]], reach));
    assert.ok(status < 0);
  });
}

function peerContract(contractTest: ContractTest): void {
  contractTest(
    'peer gone before the post: REMOTE_DISCONNECT, and its successor works',
    async (w) => {
      const { a, b, source, target } = await connectedPair(w, 64);
      const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]);
      await w.killPeer(b);
      const status = await untilDone(a, handle, post(a, handle));
      assertStatus(status, NixlStatus.ERR_REMOTE_DISCONNECT);
      a.backend.unloadMD(target.md);
      await a.backend.disconnect('b');
      assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);

      const successor = await w.openPeer('b');
      introduce(a, successor);
      const owned = await register(successor, w.memTypes[0]!, 64, 9);
      const next = loadTarget(a, successor, owned);
      const again = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[next, 0, 64]]);
      const done = await untilDone(a, again, post(a, again), undefined, [successor]);
      assertStatus(done, NixlStatus.SUCCESS);
      assert.deepEqual(owned.memory.read(0, 64), source.memory.read(0, 64));
    },
  );

  contractTest('peer gone before it was ever connected: REMOTE_DISCONNECT', async (w) => {
    const { a, b, source, target } = await pair(w, 64);
    await w.killPeer(b);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]);
    const status = await untilDone(a, handle, post(a, handle));
    assertStatus(status, NixlStatus.ERR_REMOTE_DISCONNECT);
    assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  });

  contractTest('peer gone in mid-transfer: REMOTE_DISCONNECT, or SUCCESS if faster', async (w) => {
    const { a, b, source, target } = await connectedPair(w, BIG);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, BIG]], [[target, 0, BIG]]);
    const posted = post(a, handle);
    const [status] = await Promise.all([untilDone(a, handle, posted), w.killPeer(b)]);
    const isEither = [NixlStatus.ERR_REMOTE_DISCONNECT, NixlStatus.SUCCESS].includes(status as 0);
    assert.ok(isEither, String(status));
    assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  });

  contractTest(
    'disconnect: unloading during a transfer leaves the handle releasable',
    async (w) => {
      const { a, b, source, target } = await connectedPair(w, BIG);
      const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, BIG]], [[target, 0, BIG]]);
      post(a, handle);
      a.backend.unloadMD(target.md);
      await a.backend.disconnect('b');
      let status = a.backend.releaseReqH(handle);
      for (const stop = Date.now() + 20_000; status < 0; ) {
        assert.ok(Date.now() < stop, 'the release succeeds in the end');
        await sleep(1);
        b.backend.getNotifs?.();
        status = a.backend.releaseReqH(handle);
      }
    },
  );
}

function successorContract(contractTest: ContractTest): void {
  contractTest(
    'peer replaced: a successor of the same name gets nothing meant for it',
    async (w) => {
      const { a, b, source, target } = await pair(w, 64);
      await w.killPeer(b);
      const successor = await w.openPeer('b');
      const status = await outcome(a, successor, () =>
        prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]),
      );
      assert.ok(status < 0);
      try {
        a.backend.genNotif?.('b', Buffer.from('for the old one'));
      } catch (error) {
        assert.ok(isTcpxError(error), String(error));
      }
      assert.deepEqual(await notifications(successor, 0, [a]), []);
    },
  );

  contractTest('estimateXferCost: positive, where it is offered', async (w) => {
    const { a, source, target } = await pair(w, 4096);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 4096]], [[target, 0, 4096]]);
    const cost = a.backend.estimateXferCost?.(handle);
    if (cost === undefined) return;
    assert.ok(cost.durationUs > 0 && cost.errorMarginUs >= 0);
  });
}
