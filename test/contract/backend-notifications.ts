// Contract, part two: notifications come after their data, once, in order, of any size.

import assert from 'node:assert/strict';
import { XferOp } from '../../src/nixl/memory-type.js';
import type { NixlNotification } from '../../src/nixl/notif-codec.js';
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
  register,
  untilDone,
} from './backend-world.js';

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

async function pair(world: ContractWorld, byteCount: number) {
  const [a, b] = [await world.openPeer('a'), await world.openPeer('b')];
  introduce(a, b);
  const memType = world.memTypes[0]!;
  const source = await register(a, memType, byteCount, 1);
  const owned = await register(b, memType, byteCount, 2);
  return { a, b, source, owned, target: loadTarget(a, b, owned) };
}

export function notificationContract(contractTest: ContractTest): void {
  boundContract(contractTest);
  longContract(contractTest);
  standaloneContract(contractTest);
}

function boundContract(contractTest: ContractTest): void {
  contractTest('notification: after the data is in place, once per post', async (w) => {
    const byteCount = 4 << 20;
    const { a, b, source, owned, target } = await pair(w, byteCount);
    const all: [typeof source, number, number][] = [[source, 0, byteCount]];
    const handle = prepare(a, XferOp.WRITE, 'b', all, [[target, 0, byteCount]]);
    for (let round = 0; round < 4; round++) {
      const sent = pattern(byteCount, round + 40);
      source.memory.write(0, sent);
      let seen = 0;
      const status = await untilDone(
        a,
        handle,
        post(a, handle, Buffer.from(`round ${round}`)),
        (_peer, notification) => {
          seen++;
          assert.equal(notification.agent, 'a');
          assert.equal(text(notification.message), `round ${round}`);
          assert.ok(Buffer.from(owned.memory.read(0, byteCount)).equals(sent), 'data is there');
        },
        [b],
      );
      assertStatus(status, NixlStatus.SUCCESS);
      if (seen === 0) {
        const [late] = await notifications(b, 1, [a]);
        assert.equal(text(late!.message), `round ${round}`);
      }
      assert.ok(seen <= 1, 'once per post');
    }
  });

  contractTest('notification: none without asking, none left from an earlier post', async (w) => {
    const { a, b, source, target } = await pair(w, 64);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 64]], [[target, 0, 64]]);
    const seen: NixlNotification[] = [];
    const keep = (_peer: ContractPeer, notification: NixlNotification) => seen.push(notification);
    const once = post(a, handle, Buffer.from('one'));
    assertStatus(await untilDone(a, handle, once, keep, [b]), 0);
    seen.push(...(await notifications(b, 1 - seen.length, [a])));
    assert.equal(seen.length, 1);
    assertStatus(await untilDone(a, handle, post(a, handle), keep, [b]), 0);
    assert.equal(seen.length + (await notifications(b, 0, [a])).length, 1);
  });

  contractTest('notification: READ tells the owner that its memory was read', async (w) => {
    const { a, b, source, target } = await pair(w, 64);
    const handle = prepare(a, XferOp.READ, 'b', [[source, 0, 64]], [[target, 0, 64]]);
    const seen: NixlNotification[] = [];
    const keep = (_peer: ContractPeer, notification: NixlNotification) => seen.push(notification);
    const posted = post(a, handle, Buffer.from('read it'));
    assertStatus(await untilDone(a, handle, posted, keep, [b]), NixlStatus.SUCCESS);
    seen.push(...(await notifications(b, 1 - seen.length, [a])));
    const [notification] = seen;
    assert.deepEqual([notification!.agent, text(notification!.message)], ['a', 'read it']);
  });
}

function longContract(contractTest: ContractTest): void {
  contractTest('notification: a long one comes after its data too, once', async (w) => {
    const { a, b, source, owned, target } = await pair(w, 4096);
    const handle = prepare(a, XferOp.WRITE, 'b', [[source, 0, 4096]], [[target, 0, 4096]]);
    const seen: NixlNotification[] = [];
    const keep = (_peer: ContractPeer, notification: NixlNotification) => {
      assert.deepEqual(owned.memory.read(0, 4096), source.memory.read(0, 4096));
      seen.push(notification);
    };
    const posted = post(a, handle, pattern(300_000, 4));
    assertStatus(await untilDone(a, handle, posted, keep, [b]), NixlStatus.SUCCESS);
    seen.push(...(await notifications(b, 1 - seen.length, [a])));
    assert.ok(Buffer.from(seen[0]!.message).equals(pattern(300_000, 4)));
  });
}

function standaloneContract(contractTest: ContractTest): void {
  contractTest('genNotif: 400 messages in order, empty and large ones too', async (w) => {
    const { a, b } = await pair(w, 64);
    for (let i = 0; i < 400; i++) a.backend.genNotif?.('b', Buffer.from(String(i)));
    a.backend.genNotif?.('b', new Uint8Array(0));
    a.backend.genNotif?.('b', pattern(100_000, 5));
    const seen = await notifications(b, 402, [a]);
    for (let i = 0; i < 400; i++) assert.equal(text(seen[i]!.message), String(i));
    assert.equal(seen[400]!.message.length, 0);
    assert.ok(Buffer.from(seen[401]!.message).equals(pattern(100_000, 5)));
  });

  contractTest('genNotif: to itself', async (w) => {
    const a = await w.openPeer('a');
    if (!a.backend.supportsLocal) return;
    await a.backend.connect('a');
    a.backend.genNotif?.('a', Buffer.from('me'));
    const [notification] = await notifications(a, 1);
    assert.deepEqual([notification!.agent, text(notification!.message)], ['a', 'me']);
  });

  contractTest(
    'genNotif: the message is taken at the call, later changes do not show',
    async (w) => {
      const { a, b } = await pair(w, 64);
      const message = Buffer.from('before');
      a.backend.genNotif?.('b', message);
      message.fill(0x78);
      const [notification] = await notifications(b, 1, [a]);
      assert.equal(text(notification!.message), 'before');
    },
  );
}
