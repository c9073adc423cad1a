// The agents' suite, part two: what users of NIXL stumble over, one test each.

import assert from 'node:assert/strict';
import { isTcpxError } from '../../src/base/errors.js';
import { XferOp } from '../../src/nixl/memory-type.js';
import {
  type AgentPair,
  type AgentTest,
  driving,
  fill,
  finish,
  openPair,
  pieces,
  request,
  run,
  S,
  same,
  texts,
  textsFrom,
  thrown,
} from './agent-world.js';

const BIG = 32 << 20;

export function trapSuite(agentTest: AgentTest, types: readonly [string, string]): void {
  listTraps(agentTest);
  evictionTraps(agentTest);
  nameTraps(agentTest);
  choiceTraps(agentTest, types);
  quietTraps(agentTest);
}

function listTraps(agentTest: AgentTest): void {
  agentTest('trap: createXferReq does not merge neighbours, makeXferReq does', async (w) => {
    const pair = await openPair(w, 4096);
    const { a, b } = pair;
    const parts = [0, 8, 16, 32].map((offset) => [offset, 8] as const);
    const [here, there] = [pieces(a.memory, ...parts), pieces(b.memory, ...parts)];
    const created = a.agent.createXferReq(XferOp.WRITE, here, there, 'b');
    assert.equal(created.descCount, 4);
    const local = a.agent.prepXferDlist('', here);
    const remote = a.agent.prepXferDlist('b', there);
    const all = [0, 1, 2, 3];
    const make = (options = {}, order = all) =>
      a.agent.makeXferReq(XferOp.WRITE, local, all, remote, order, options);
    assert.equal(make().descCount, 2);
    assert.equal(make({ skipDescMerge: true }).descCount, 4);
    assert.equal(make({}, [0, 2, 1, 3]).descCount, 4, 'only where both sides continue');
    fill(a.memory, 77);
    same(await run(pair, make()), S.SUCCESS);
    assert.deepEqual(b.memory.bytes.subarray(0, 24), a.memory.bytes.subarray(0, 24));
    assert.deepEqual(b.memory.bytes.subarray(24, 32), new Uint8Array(8));
  });

  agentTest(
    'trap: options without a notification switch off the one given at creation',
    async (w) => {
      const pair = await openPair(w, 4096);
      const write = request(pair, XferOp.WRITE, [[0, 8]], 'first');
      const posted = async (expected: string[], options?: { notif?: string }) => {
        const seen: string[] = [];
        same(await run(pair, write, options, seen), S.SUCCESS);
        assert.deepEqual(await texts(pair, expected.length, seen), expected);
      };
      await posted(['first']);
      await posted(['first']);
      await posted(['second'], { notif: 'second' });
      await posted(['second']);
      await posted([], {});
      await posted([]);
      await posted([''], { notif: '' });
    },
  );
}

/** A large write in flight, on a connection that stands. */
async function postBig(pair: AgentPair) {
  same(await run(pair, request(pair, XferOp.WRITE, [[0, 8]])), S.SUCCESS);
  const write = request(pair, XferOp.WRITE, [[0, BIG]]);
  same(pair.a.agent.postXferReq(write), S.IN_PROG);
  return write;
}

function evictionTraps(agentTest: AgentTest): void {
  agentTest('trap: status of an evicted peer is NOT_FOUND, but not stored', async (w) => {
    const pair = await openPair(w, BIG);
    const { a } = pair;
    const write = await postBig(pair);
    a.agent.invalidateRemoteMD('b');
    same(a.agent.getXferStatus(write), S.ERR_NOT_FOUND);
    same(write.status, S.IN_PROG);
    await driving(pair, a.agent.cancelXferReq(write));
    assert.ok(write.isReleased);
  });

  agentTest('trap: eviction unloads regions that a request still holds', async (w) => {
    const pair = await openPair(w, BIG);
    const { a, b } = pair;
    const write = await postBig(pair);
    a.agent.invalidateRemoteMD('b');
    const waiting = assert.rejects(a.agent.waitXferReq(write), (error) =>
      isTcpxError(error, 'ERR_USAGE_NOT_FOUND'),
    );
    await driving(pair, waiting);
    await driving(pair, a.agent.cancelXferReq(write));
    // Loaded again, it works as before: nothing of the old one is in the way.
    a.agent.loadRemoteMD(b.agent.getLocalMD());
    fill(a.memory, 4);
    same(await run(pair, request(pair, XferOp.WRITE, [[0, BIG]])), S.SUCCESS);
    assert.ok(Buffer.from(b.memory.bytes).equals(a.memory.bytes));
  });

  agentTest(
    'trap: a list prepared for an older generation is refused by makeXferReq',
    async (w) => {
      const { a, b } = await openPair(w, 64);
      const local = a.agent.prepXferDlist('', pieces(a.memory, [0, 8]));
      const remote = a.agent.prepXferDlist('b', pieces(b.memory, [0, 8]));
      a.agent.invalidateRemoteMD('b');
      a.agent.loadRemoteMD(b.agent.getLocalMD());
      const make = () => a.agent.makeXferReq(XferOp.WRITE, local, [0], remote, [0]);
      assert.equal(thrown(make), 'NIXL_ERR_NOT_FOUND');
    },
  );
}

function nameTraps(agentTest: AgentTest): void {
  agentTest('trap: a name cannot be spoken for from elsewhere once it is known', async (w) => {
    const pair = await openPair(w, 64);
    const impostor = await w.open('b', 64);
    assert.equal(
      thrown(() => pair.a.agent.loadRemoteMD(impostor.agent.getLocalMD())),
      'NIXL_ERR_NOT_ALLOWED',
    );
    fill(pair.a.memory, 3);
    same(await run(pair, request(pair, XferOp.WRITE, [[0, 8]])), S.SUCCESS);
    assert.deepEqual(pair.b.memory.bytes.subarray(0, 8), pair.a.memory.bytes.subarray(0, 8));
    assert.deepEqual(impostor.memory.bytes, new Uint8Array(64), 'it gets nothing');
  });

  agentTest('trap: an agent cannot load its own metadata; loopback goes by its name', async (w) => {
    const { agent, memory } = await w.open('a', 4096);
    const refused = 'NIXL_ERR_INVALID_PARAM';
    assert.equal(
      thrown(() => agent.loadRemoteMD(agent.getLocalMD())),
      refused,
    );
    assert.equal(
      thrown(() => agent.invalidateRemoteMD('a')),
      refused,
    );
    fill({ addr: 0, bytes: memory.bytes }, 1);
    const [from, to] = [pieces(memory, [0, 16]), pieces(memory, [1024, 16])];
    const self = agent.createXferReq(XferOp.WRITE, from, to, 'a', { notif: 'to me' });
    const seen: string[] = [];
    const look = () => seen.push(...textsFrom(agent, 'a'));
    same(await finish(agent, self, agent.postXferReq(self), look), S.SUCCESS);
    assert.deepEqual(memory.bytes.subarray(1024, 1040), memory.bytes.subarray(0, 16));
    for (const stop = Date.now() + 5000; seen.length === 0 && Date.now() < stop; ) {
      look();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(seen, ['to me']);
  });

  agentTest('trap: connection info is taken at creation and stays the same', async (w) => {
    const { agent } = await w.open('a', 64);
    const none = { memType: 0, descs: [] } as const;
    const first = Buffer.from(agent.getLocalPartialMD(none));
    assert.ok(first.length > 100, 'it is there before anything is registered or connected');
    assert.deepEqual(Buffer.from(agent.getLocalPartialMD(none)), first);
  });
}

function choiceTraps(agentTest: AgentTest, types: readonly [string, string]): void {
  agentTest(
    'trap: of several backends the first created is taken, or the one named',
    async (w) => {
      const pair = await openPair(w, 64);
      const { a, b } = pair;
      const free = request(pair, XferOp.WRITE, [[0, 8]]);
      const chosen = a.agent.queryXferBackend(free);
      assert.equal(chosen.type, types[0]);
      same(await run(pair, free), S.SUCCESS);
      const lists = [pieces(a.memory, [0, 8]), pieces(b.memory, [0, 8])] as const;
      const elsewhere = b.agent.queryXferBackend(
        b.agent.createXferReq(
          XferOp.WRITE,
          pieces(b.memory, [0, 8]),
          pieces(a.memory, [0, 8]),
          'a',
        ),
      );
      const foreign = () =>
        a.agent.createXferReq(XferOp.WRITE, ...lists, 'b', { backends: [elsewhere] });
      assert.equal(thrown(foreign), 'NIXL_ERR_INVALID_PARAM', 'a backend of another agent');
      const second = await a.agent.createBackend('SECOND');
      const alone = () =>
        a.agent.createXferReq(XferOp.WRITE, ...lists, 'b', { backends: [second] });
      assert.equal(thrown(alone), 'NIXL_ERR_NOT_FOUND', 'the peer has it not');
    },
    types,
  );
}

function quietTraps(agentTest: AgentTest): void {
  agentTest('trap: polling notifications does not hold up posts', async (w) => {
    const pair = await openPair(w, 64);
    const write = request(pair, XferOp.WRITE, [[0, 8]], 'x');
    const seen: string[] = [];
    for (let round = 0; round < 100; round++) {
      pair.a.agent.getNotifs();
      same(await run(pair, write, undefined, seen), S.SUCCESS);
    }
    await texts(pair, 100, seen);
  });

  agentTest('trap: an ordinary run logs no warning', async (w) => {
    const lines: string[] = [];
    const note = (event: string) => lines.push(event);
    const log = { error: note, warn: note, info: () => 0, debug: () => 0, trace: () => 0 };
    const pair = await openPair(w, 64, { log }, { log });
    const write = request(pair, XferOp.WRITE, [[0, 8]], 'x');
    same(await run(pair, write), S.SUCCESS);
    pair.a.agent.releaseXferReq(write);
    await pair.a.agent.close();
    await pair.b.agent.close();
    assert.deepEqual(lines, []);
  });
}
