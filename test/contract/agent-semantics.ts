// The agents' suite, part one: what NIXL promises about transfers, notifications and lost peers,
// one test per promise.

import assert from 'node:assert/strict';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import {
  type AgentTest,
  driving,
  fill,
  openPair,
  pieces,
  region,
  request,
  run,
  S,
  same,
  texts,
  textsFrom,
  thrown,
} from './agent-world.js';

const MIB = 1 << 20;

export function semanticsSuite(agentTest: AgentTest): void {
  notificationItems(agentTest);
  emptyItems(agentTest);
  transferItems(agentTest);
  listItems(agentTest);
  lossItems(agentTest);
}

function notificationItems(agentTest: AgentTest): void {
  agentTest('semantics: notification after data', async (w) => {
    const pair = await openPair(w, 4 * MIB);
    const { a, b } = pair;
    const write = request(pair, XferOp.WRITE, [[0, 4 * MIB]], 'landed');
    for (let round = 0; round < 5; round++) {
      fill(a.memory, round * 13 + 1);
      let status = a.agent.postXferReq(write);
      let seen: string[] = [];
      while (seen.length === 0) {
        seen = textsFrom(b.agent, 'a');
        if (status === S.IN_PROG) status = a.agent.getXferStatus(write);
        assert.ok(status >= 0);
        if (seen.length === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      assert.ok(Buffer.from(b.memory.bytes).equals(a.memory.bytes), 'with the notice, all data');
      while (status === S.IN_PROG) {
        b.agent.getNotifs();
        await new Promise((resolve) => setImmediate(resolve));
        status = a.agent.getXferStatus(write);
      }
    }
  });

  agentTest('semantics: READ notifies the owner of the data', async (w) => {
    const pair = await openPair(w, 4096);
    fill(pair.b.memory, 9);
    const seen: string[] = [];
    const read = request(pair, XferOp.READ, [[128, 64]], 'read');
    same(await run(pair, read, undefined, seen), S.SUCCESS);
    const [here, there] = [pair.a.memory.bytes, pair.b.memory.bytes];
    assert.deepEqual(here.subarray(128, 192), there.subarray(128, 192));
    assert.deepEqual(await texts(pair, 1, seen), ['read']);
  });

  agentTest('semantics: one notification per successful post, none for a failed one', async (w) => {
    const pair = await openPair(w, 4096);
    const write = request(pair, XferOp.WRITE, [[0, 8]], 'n');
    const seen: string[] = [];
    for (let round = 0; round < 3; round++) {
      same(await run(pair, write, undefined, seen), S.SUCCESS);
    }
    assert.deepEqual(await texts(pair, 3, seen), ['n', 'n', 'n']);
    await pair.b.agent.deregisterMem(region(pair.b.memory));
    const none: string[] = [];
    assert.ok((await run(pair, write, undefined, none)) < 0, 'its owner refuses');
    assert.deepEqual(await texts(pair, 0, none), []);
  });

  agentTest('semantics: the sender in a notification is the agent’s name', async (w) => {
    const pair = await openPair(w, 64);
    pair.a.agent.genNotif('b', 'hello');
    pair.a.agent.genNotif('b', '');
    assert.deepEqual(await texts(pair, 2), ['hello', '']);
  });
}

function emptyItems(agentTest: AgentTest): void {
  agentTest('semantics: pieces of no bytes move nothing, and their message arrives', async (w) => {
    const pair = await openPair(w, 4096);
    const { a, b } = pair;
    fill(a.memory, 3);
    const some: (readonly [number, number])[] = [
      [0, 0],
      [64, 32],
      [4096, 0],
    ];
    const seen: string[] = [];
    same(await run(pair, request(pair, XferOp.WRITE, some, 'some'), undefined, seen), S.SUCCESS);
    assert.deepEqual(b.memory.bytes.subarray(64, 96), a.memory.bytes.subarray(64, 96));
    assert.ok(b.memory.bytes.subarray(0, 64).every((byte) => byte === 0));
    const none = request(pair, XferOp.READ, [[8, 0]], 'none');
    for (let round = 0; round < 2; round++) {
      same(await run(pair, none, undefined, seen), S.SUCCESS);
    }
    same(await run(pair, none, {}, seen), S.SUCCESS, 'nor a message');
    const long = 'x'.repeat(1 << 20);
    same(await run(pair, none, { notif: long }, seen), S.SUCCESS);
    assert.deepEqual(await texts(pair, 4, seen), ['some', 'none', 'none', long]);
    same(a.agent.releaseXferReq(none), S.SUCCESS);
  });
}

function transferItems(agentTest: AgentTest): void {
  agentTest('semantics: transfers are not ordered among each other', async (w) => {
    const pair = await openPair(w, 8 * MIB);
    const { a } = pair;
    fill(a.memory, 3);
    const slow = request(pair, XferOp.WRITE, [[0, 8 * MIB - 64]], 'slow');
    const quick = request(pair, XferOp.WRITE, [[8 * MIB - 64, 64]], 'quick');
    same(await run(pair, quick), S.SUCCESS, 'connected');
    a.agent.postXferReq(slow);
    const seen: string[] = [];
    same(await run(pair, quick, undefined, seen), S.SUCCESS, 'needs nothing of the other');
    await driving(pair, a.agent.waitXferReq(slow));
    assert.ok(Buffer.from(pair.b.memory.bytes).equals(a.memory.bytes));
  });

  agentTest('semantics: lists are prepared once and identical at every repost', async (w) => {
    const pair = await openPair(w, 4096);
    const { a, b } = pair;
    const descs = pieces(a.memory, [0, 8], [64, 8]).descs as [number, number, number][];
    const local = { memType: MemType.DRAM, descs };
    const remote = pieces(b.memory, [0, 8], [64, 8]);
    const write = a.agent.createXferReq(XferOp.WRITE, local, remote, 'b');
    // What the caller does to its list afterwards changes nothing.
    descs[0] = [a.memory.addr + 1024, 8, 0];
    for (let round = 0; round < 5; round++) {
      fill(a.memory, round);
      same(await run(pair, write), S.SUCCESS);
      assert.deepEqual(b.memory.bytes.subarray(0, 8), a.memory.bytes.subarray(0, 8));
      assert.deepEqual(b.memory.bytes.subarray(64, 72), a.memory.bytes.subarray(64, 72));
    }
  });
}

function listItems(agentTest: AgentTest): void {
  agentTest('semantics: counts and lengths match pairwise before a backend is asked', async (w) => {
    const { a, b } = await openPair(w, 4096);
    const create = (here: [number, number][], there: [number, number][]) =>
      thrown(() =>
        a.agent.createXferReq(
          XferOp.WRITE,
          pieces(a.memory, ...here),
          pieces(b.memory, ...there),
          'b',
        ),
      );
    const refused = 'NIXL_ERR_INVALID_PARAM';
    assert.equal(create([], []), 'NIXL_ERR_NOT_FOUND', 'nothing covers nothing');
    assert.equal(create([[0, 8]], []), refused);
    assert.equal(create([[0, 8]], [[0, 9]]), refused);
    assert.equal(create([[0, 8]], [[4092, 8]]), 'NIXL_ERR_NOT_FOUND', 'beyond what is registered');
  });

  agentTest(
    'semantics: one request may span several registrations and devices of one peer',
    async (w) => {
      const pair = await openPair(w, 4096);
      const { a, b } = pair;
      const other = b.allocate(64);
      await b.agent.registerMem(region(other, 3));
      a.agent.loadRemoteMD(b.agent.getLocalMD());
      const descs = [[b.memory.addr + 5, 16, 0] as const, [other.addr + 7, 16, 3] as const];
      fill(a.memory, 3);
      const local = pieces(a.memory, [0, 16], [100, 16]);
      const remote = { memType: MemType.DRAM, descs };
      const write = a.agent.createXferReq(XferOp.WRITE, local, remote, 'b');
      same(await run(pair, write), S.SUCCESS);
      assert.deepEqual(b.memory.bytes.subarray(5, 21), a.memory.bytes.subarray(0, 16));
      assert.deepEqual(other.bytes.subarray(7, 23), a.memory.bytes.subarray(100, 116));
    },
  );

  agentTest('registrations: 1,000, with interleaved transfers', async (w) => {
    const pair = await openPair(w, 1000 * 16);
    const { a, b } = pair;
    fill(a.memory, 77);
    const blocks = Array.from({ length: 1000 }, () => b.allocate(16));
    for (const block of blocks) await b.agent.registerMem(region(block));
    a.agent.loadRemoteMD(b.agent.getLocalMD());
    const writes = blocks.map((block, index) =>
      a.agent.createXferReq(
        XferOp.WRITE,
        pieces(a.memory, [index * 16, 16]),
        pieces(block, [0, 16]),
        'b',
      ),
    );
    for (const write of writes) assert.ok(a.agent.postXferReq(write) >= 0);
    // Some are given back while others are still under way.
    for (const [index, write] of writes.entries()) {
      await driving(pair, a.agent.waitXferReq(write));
      same(a.agent.releaseXferReq(write), S.SUCCESS);
      const block = blocks[index]!;
      assert.deepEqual(block.bytes, a.memory.bytes.subarray(index * 16, index * 16 + 16));
      if (index % 2 === 0) await b.agent.deregisterMem(region(block));
    }
  });
}

function lossItems(agentTest: AgentTest): void {
  agentTest(
    'semantics: REMOTE_DISCONNECT evicts the peer for every user of the agent',
    async (w) => {
      const evicted: string[] = [];
      const pair = await openPair(w, 4096, { onPeerEvicted: (name) => evicted.push(name) });
      const { a, b } = pair;
      const [first, second] = [
        request(pair, XferOp.WRITE, [[0, 8]]),
        request(pair, XferOp.WRITE, [[8, 8]]),
      ];
      same(await run(pair, first), S.SUCCESS);
      await w.kill(b);
      const deaf = { agent: { getNotifs: () => new Map() } } as unknown as typeof b;
      same(await run({ a, b: deaf }, first), S.ERR_REMOTE_DISCONNECT);
      assert.deepEqual(evicted, ['b']);
      same(a.agent.checkRemoteMD('b'), S.ERR_NOT_FOUND);
      same(a.agent.postXferReq(second), S.ERR_NOT_FOUND);

      // A successor of the same name works; the old handles never do again.
      const next = await w.open('b', 4096);
      a.agent.loadRemoteMD(next.agent.getLocalMD());
      same(a.agent.postXferReq(second), S.ERR_NOT_FOUND);
      const again = { a, b: next };
      fill(a.memory, 5);
      same(await run(again, request(again, XferOp.WRITE, [[0, 8]])), S.SUCCESS);
      assert.deepEqual(next.memory.bytes.subarray(0, 8), a.memory.bytes.subarray(0, 8));
    },
  );

  agentTest('semantics: genNotif to a lost peer does not evict it', async (w) => {
    const evicted: string[] = [];
    const pair = await openPair(w, 64, { onPeerEvicted: (name) => evicted.push(name) });
    same(await run(pair, request(pair, XferOp.WRITE, [[0, 8]])), S.SUCCESS);
    await w.kill(pair.b);
    for (let round = 0; round < 10; round++) {
      const outcome = thrown(() => pair.a.agent.genNotif('b', 'x'));
      assert.match(outcome, /SUCCESS|REMOTE_DISCONNECT/);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    same(pair.a.agent.checkRemoteMD('b'), S.SUCCESS);
    assert.deepEqual(evicted, []);
  });
}
