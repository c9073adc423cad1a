// One request, posted ten thousand times, over either provider: nothing grows.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  readEmulatedStatistics,
  STATE_FOLDER_VARIABLE,
} from '../../src/host/read/emulated-nics.js';
import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { emulatorVariables, requireNative } from '../native/plugin-environment.js';
import { pluginParams } from '../native/plugin-params.js';

const POSTS = 10_000;
const BYTES = 4096;

const WAYS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  lanes: { 'lane.progress': 'lanes' },
  caller: { 'lane.progress': 'caller' },
  tcpx: pluginParams({ 'tcpx.socketBudget': 'off' }),
};

async function open(t: TestContext, name: string, way: string) {
  const agent = await Agent.create(name);
  t.after(() => agent.close());
  await agent.createBackend('TCPX', WAYS[way]);
  const memory = new Uint8Array(agent.allocateMem(BYTES).buffer);
  const desc = describeMemory(memory);
  await agent.registerMem({ memType: MemType.DRAM, descs: [desc] });
  return { agent, memory, list: { memType: MemType.DRAM, descs: [desc] } };
}

/** The folder of the emulator's counters. */
function usePlugin(t: TestContext): string {
  requireNative();
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-repost-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  Object.assign(process.env, emulatorVariables, { [STATE_FOLDER_VARIABLE]: folder });
  return folder;
}

for (const way of Object.keys(WAYS)) {
  test(`repost, ${way}: ${POSTS} posts with a notification each, nothing grows`, async (t) => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const state = way === 'tcpx' ? usePlugin(t) : undefined;
    const a = await open(t, 'a', way);
    const b = await open(t, 'b', way);
    const [source, target] = [a.memory, b.memory];
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
        if (way !== 'caller' && status === NixlStatus.IN_PROG) {
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
    if (state === undefined) return;
    const { rx_devmem_pkts: packets = 0 } = readEmulatedStatistics(state, 'eth1');
    assert.ok(packets >= POSTS, `${packets} packets came through the plugin`);
  });
}
