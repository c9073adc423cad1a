// One request, posted ten thousand times: nothing grows.

import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { test, type TestContext } from 'node:test';
import { runInNewContext } from 'node:vm';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';

const POSTS = 10_000;

async function open(t: TestContext, name: string, progress: string, memory: Uint8Array) {
  const agent = await Agent.create(name);
  t.after(() => agent.close());
  const handle = await agent.createBackend('TCPX', { 'lane.progress': progress });
  const desc = describeMemory(memory);
  await agent.registerMem({ memType: MemType.DRAM, descs: [desc] });
  return { agent, handle, list: { memType: MemType.DRAM, descs: [desc] } };
}

for (const progress of ['lanes', 'caller']) {
  test(`repost, ${progress}: ${POSTS} posts with a notification each, nothing grows`, async (t) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const [source, target] = [new Uint8Array(4096), new Uint8Array(4096)];
    const a = await open(t, 'a', progress, source);
    const b = await open(t, 'b', progress, target);
    a.agent.loadRemoteMD(b.agent.getLocalMD());
    const connected = a.agent.makeConnection('b');
    const driving = setInterval(() => b.agent.getNotifs(), 1);
    await connected;
    clearInterval(driving);
    const request = a.agent.createXferReq(XferOp.WRITE, a.list, b.list, 'b', { notif: 'x' });
    let seen = 0;
    const countNotifs = (): number => b.agent.getNotifs().get('a')?.length ?? 0;
    const postMany = async (count: number): Promise<void> => {
      for (let index = 0; index < count; index++) {
        source.fill(index);
        let status = a.agent.postXferReq(request);
        if (progress === 'lanes' && status === NixlStatus.IN_PROG) {
          // Asleep, so that the lanes have the cores.
          await a.agent.waitXferReq(request);
        }
        status = a.agent.getXferStatus(request);
        for (let spins = 1; status === NixlStatus.IN_PROG; spins++) {
          status = a.agent.getXferStatus(request);
          seen += countNotifs();
          if (spins % 1000 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        if (index % 64 === 0) seen += countNotifs();
        assert.equal(status, NixlStatus.SUCCESS);
        assert.equal(target[4095], index & 255);
      }
    };
    await postMany(1000);
    collect();
    const heapBefore = process.memoryUsage().heapUsed;
    await postMany(POSTS);
    collect();
    const grownBytes = process.memoryUsage().heapUsed - heapBefore;
    while (seen < POSTS + 1000) {
      seen += countNotifs();
      a.agent.getNotifs();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(seen, POSTS + 1000, 'one notification per post');
    assert.ok(grownBytes < 1_000_000, `the heap grew by ${grownBytes} bytes`);
    assert.equal(a.agent.releaseXferReq(request), NixlStatus.SUCCESS);
  });
}
