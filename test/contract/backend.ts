// The contract suite: a backend is finished when all of this passes. It talks to the backend alone,
// as the agent does. Run it with backendContract(harness) from a file of tests.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { missingMethods } from '../../src/nixl/backend.js';
import { type MemType, memTypeName, XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { lifecycleContract } from './backend-lifecycle.js';
import { notificationContract } from './backend-notifications.js';
import {
  assertStatus,
  type BackendHarness,
  type ContractTest,
  type ContractPeer,
  introduce,
  loadTarget,
  type Piece,
  pattern,
  post,
  prepare,
  type Region,
  register,
  type Target,
  untilDone,
} from './backend-world.js';

export function backendContract(harness: BackendHarness): void {
  const contractTest: ContractTest = (behaviour, body) => {
    const options = harness.skipReason === undefined ? {} : { skip: harness.skipReason };
    test(`${harness.name}: ${behaviour}`, options, async () => {
      const world = await harness.openWorld();
      try {
        await body(world);
      } finally {
        await world.close();
      }
    });
  };
  capabilityContract(contractTest);
  transferContract(contractTest);
  reuseContract(contractTest);
  notificationContract(contractTest);
  lifecycleContract(contractTest);
}

function capabilityContract(contractTest: ContractTest): void {
  contractTest('capabilities: what they demand is there, and remote implies notif', async (w) => {
    const { backend } = await w.openPeer('a');
    assert.deepEqual(missingMethods(backend), []);
    assert.ok(!backend.supportsRemote || backend.supportsNotif);
    assert.deepEqual([...backend.getSupportedMems()].sort(), [...w.memTypes].sort());
  });

  contractTest('getConnInfo: not empty and constant', async (w) => {
    const { backend } = await w.openPeer('a');
    const info = backend.getConnInfo?.() ?? new Uint8Array(0);
    assert.ok(info.length > 0);
    assert.deepEqual(backend.getConnInfo?.(), info);
  });

  contractTest('loadRemoteConnInfo: foreign bytes are refused with a typed error', async (w) => {
    const { backend } = await w.openPeer('a');
    for (const bytes of [new Uint8Array(1), pattern(300, 1), Buffer.from('{"port":-1}')]) {
      assert.throws(
        () => backend.loadRemoteConnInfo?.('x', bytes),
        (error) => isTcpxError(error),
      );
    }
  });
}

const SHAPES = [
  { len: 4096, count: 8 },
  { len: 32 * 1024, count: 64 },
  { len: 40, count: 1000 },
  { len: 1_000_000, count: 3 },
] as const;

function transferContract(contractTest: ContractTest): void {
  for (const { len, count } of SHAPES) {
    for (const op of [XferOp.WRITE, XferOp.READ]) {
      const verb = op === XferOp.WRITE ? 'WRITE' : 'READ';
      contractTest(`${verb}: ${count} × ${len} bytes land exactly, in every memory`, async (w) => {
        const ends = [await w.openPeer('a'), await w.openPeer('b')] as const;
        introduce(...ends);
        for (const here of w.memTypes) {
          for (const there of w.memTypes) await moveShape(ends, op, here, there, len, count);
        }
      });
    }
  }

  contractTest('transfers: one request spans several regions of the peer', async (w) => {
    const [a, b] = [await w.openPeer('a'), await w.openPeer('b')];
    introduce(a, b);
    const memType = w.memTypes[0]!;
    const source = await register(a, memType, 4096, 1);
    const regions = [await register(b, memType, 64, 2), await register(b, memType, 64, 3)];
    const targets = regions.map((region) => loadTarget(a, b, region));
    const local: Piece<Region>[] = [
      [source, 100, 8],
      [source, 500, 16],
    ];
    const remote: Piece<Target>[] = [
      [targets[1]!, 3, 8],
      [targets[0]!, 40, 16],
    ];
    const handle = prepare(a, XferOp.WRITE, 'b', local, remote);
    assertStatus(await untilDone(a, handle, post(a, handle), undefined, [b]), NixlStatus.SUCCESS);
    assert.deepEqual(targets[1]!.memory.read(3, 8), source.memory.read(100, 8));
    assert.deepEqual(targets[0]!.memory.read(40, 16), source.memory.read(500, 16));
  });
}

function reuseContract(contractTest: ContractTest): void {
  contractTest('registrations: 1,000 regions, interleaved transfers', async (w) => {
    const [a, b] = [await w.openPeer('a'), await w.openPeer('b')];
    introduce(a, b);
    const memType = w.memTypes[0]!;
    const source = await register(a, memType, 1000 * 16, 7);
    const targets: Target[] = [];
    for (let i = 0; i < 1000; i++) {
      targets.push(loadTarget(a, b, await register(b, memType, 16, i)));
    }
    const handles = targets.map((target, i) =>
      prepare(a, XferOp.WRITE, 'b', [[source, i * 16, 16]], [[target, 0, 16]]),
    );
    const posted = handles.map((handle) => post(a, handle));
    for (const [i, handle] of handles.entries()) {
      const status = await untilDone(a, handle, posted[i]!, undefined, [b]);
      assertStatus(status, NixlStatus.SUCCESS);
      assert.deepEqual(targets[i]!.memory.read(0, 16), source.memory.read(i * 16, 16));
    }
  });

  contractTest('repost: a handle runs again after it ended, with new bytes', async (w) => {
    const [a, b] = [await w.openPeer('a'), await w.openPeer('b')];
    introduce(a, b);
    const memType = w.memTypes[0]!;
    const source = await register(a, memType, 4096, 1);
    const target = loadTarget(a, b, await register(b, memType, 4096, 2));
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 4096]], [[target, 0, 4096]]);
    for (let round = 0; round < 5; round++) {
      source.memory.write(0, pattern(4096, round * 11));
      assertStatus(await untilDone(a, handle, post(a, handle), undefined, [b]), NixlStatus.SUCCESS);
      assert.deepEqual(target.memory.read(0, 4096), source.memory.read(0, 4096));
    }
    assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
  });

  contractTest('loopback: bytes move within one agent through loadLocalMD', async (w) => {
    const a = await w.openPeer('a');
    if (!a.backend.supportsLocal) return;
    await a.backend.connect('a');
    const memType = w.memTypes[0]!;
    const source = await register(a, memType, 512, 1);
    const region = await register(a, memType, 512, 2);
    const md = a.backend.loadLocalMD?.(region.md);
    assert.ok(md !== undefined);
    const target = { memory: region.memory, md };
    const handle = prepare(a, XferOp.WRITE, 'a', [[source, 8, 256]], [[target, 16, 256]]);
    assertStatus(await untilDone(a, handle, post(a, handle)), NixlStatus.SUCCESS);
    assert.deepEqual(region.memory.read(16, 256), source.memory.read(8, 256));
    a.backend.unloadMD(md);
    await a.backend.deregisterMem(region.md);
  });
}

/** A buffer with guard bytes at both ends and gaps between pieces: nothing else may change. */
async function moveShape(
  [a, b]: readonly [ContractPeer, ContractPeer],
  op: XferOp,
  here: MemType,
  there: MemType,
  len: number,
  count: number,
): Promise<void> {
  const stride = len + 8;
  const byteCount = 8 + count * stride;
  const local = await register(a, here, byteCount, 1);
  const owned = await register(b, there, byteCount, 2);
  const target = loadTarget(a, b, owned);
  const localPieces: Piece<Region>[] = [];
  const remotePieces: Piece<Target>[] = [];
  for (let i = 0; i < count; i++) {
    // The far side in reverse, so that order matters.
    localPieces.push([local, 8 + i * stride, len]);
    remotePieces.push([target, 8 + (count - 1 - i) * stride, len]);
  }
  const handle = prepare(a, op, 'b', localPieces, remotePieces);
  const status = await untilDone(a, handle, post(a, handle), undefined, [b]);
  assertStatus(status, NixlStatus.SUCCESS);
  const [from, to] =
    op === XferOp.WRITE ? [local.memory, owned.memory] : [owned.memory, local.memory];
  const expected = pattern(byteCount, op === XferOp.WRITE ? 2 : 1);
  const source = pattern(byteCount, op === XferOp.WRITE ? 1 : 2);
  for (let i = 0; i < count; i++) {
    const sourceAt = 8 + i * stride;
    const targetAt = 8 + (count - 1 - i) * stride;
    expected.set(source.subarray(sourceAt, sourceAt + len), targetAt);
  }
  const label = `${memTypeName(here)} with ${memTypeName(there)}`;
  assert.ok(Buffer.from(to.read(0, byteCount)).equals(expected), `target: ${label}`);
  assert.ok(Buffer.from(from.read(0, byteCount)).equals(source), `source: ${label}`);
  assertStatus(a.backend.releaseReqH(handle), NixlStatus.SUCCESS);
}
