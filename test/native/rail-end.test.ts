// How plugin processes end: with the application, within a limit, and without leaving rules behind.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  closeRails,
  failureOf,
  makeRails,
  moveChecked,
  openRailPair,
  openRails,
  RailEnd,
  temporaryFolder,
} from './rail-pair.js';

after(closeRails);

const ORPHAN_MAIN = fileURLToPath(new URL('rail-orphan-main.js', import.meta.url));

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Starts the application, has it move a chunk, and kills it; gives its plugin processes. */
async function killApplication(plugin: Record<string, string>): Promise<number[]> {
  const child = spawn(process.execPath, [ORPHAN_MAIN, JSON.stringify(plugin)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [text] = (await once(child.stdout, 'data')) as [Buffer];
  const pids = JSON.parse(text.toString()) as number[];
  assert.equal(pids.length, 2);
  assert.ok(pids.every(isAlive));
  child.kill('SIGKILL');
  return pids;
}

async function endedWithinMs(pids: readonly number[], limitMs: number): Promise<number> {
  const startMs = performance.now();
  while (pids.some(isAlive)) {
    const elapsedMs = performance.now() - startMs;
    assert.ok(elapsedMs < limitMs, `still there after ${Math.round(elapsedMs)} ms`);
    await sleep(20);
  }
  return performance.now() - startMs;
}

describe('rail end: the application is killed', () => {
  test('rail end: its plugin processes close their comms, so that no rule stays', async () => {
    const folder = temporaryFolder();
    const budget = { TCPX_EMU_STATE_DIR: folder, TCPX_EMU_SOCKET_BUDGET: '8' };
    const pids = await killApplication(budget);
    await endedWithinMs(pids, 4000);
    assert.equal(readFileSync(join(folder, 'eth1.sockets'), 'utf8'), '', 'all given back');
  });

  test('rail end: processes that were still starting see that nobody is there', async () => {
    const application = spawn(process.execPath, [ORPHAN_MAIN, '{}', 'early'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(application.stdout, 'data');
    const { pid = 0 } = application;
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? [];
    assert.equal(pids.length, 2);
    application.kill('SIGKILL');
    await endedWithinMs(pids.map(Number), 12_000);
  });

  test('rail end: a close that never returns does not keep the process', async () => {
    const pids = await killApplication({ TCPX_EMU_FAULT: 'close-stuck' });
    const tookMs = await endedWithinMs(pids, 12_000);
    assert.ok(tookMs > 2000, `the close had ${Math.round(tookMs)} ms`);
  });
});

test('rail end: Ctrl-C of the whole group leaves the end to the application', async () => {
  const { set } = await openRails();
  const [pid = 0] = set.pids();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal);
  await sleep(300);
  assert.ok(isAlive(pid));
  await set.close();
  assert.ok(!isAlive(pid));
});

describe('rail end: a set-up that fails', () => {
  test('rail end: a failed accept is an error; the channel closes, its host stays', async () => {
    const sides = [makeRails(), makeRails({ plugin: { TCPX_EMU_FAULT: 'rxdm-refused' } })] as const;
    await Promise.all(sides.map(({ set }) => set.open()));
    const before = sides[1].set.pids();
    const [sender, receiver] = await Promise.all(sides.map((side) => RailEnd.open(side)));
    const [own, peer] = [sender?.channels[0], receiver?.channels[0]];
    assert.ok(own !== undefined && peer !== undefined);
    const [, error] = await Promise.all([
      failureOf(own.join(peer.handle)),
      failureOf(peer.join(own.handle)),
    ]);
    assert.equal(error.code, 'ERR_NCCLNET_CALL');
    assert.match(error.message, /plugin accept: internal error.*Create FlowSteerRule Failed/);
    await Promise.all([own.close(3000), peer.close(3000)]);
    assert.deepEqual(sides[1].set.pids(), before, 'no assertion of ours ended it');
  });

  test('rail end: what cannot be closed ends its process, with that reason', async () => {
    const { set, lines } = await openRails({ plugin: { TCPX_EMU_FAULT: 'accept-stuck' } });
    const end = await RailEnd.open({ set, lines });
    const channel = end.channels[0]!;
    const joining = channel.join(channel.handle);
    await sleep(200);
    await channel.close(3000);
    const error = await failureOf(joining);
    assert.match(error.message, /accept under way; only the end of the process ends that/);
    assert.doesNotMatch(lines.join(), /assert/i);
  });
});

test('rail end: a NIC without PCI device is refused before the plugin crashes on it', async () => {
  const plugin = { TCPX_EMU_STRICT_PCI: '1' };
  const error = await failureOf(openRailPair({ plugin }));
  assert.equal(error.code, 'ERR_CAP_NET_DEVICE');
  assert.match(error.message, /eth1: a virtual one without PCI device/);
  await moveChecked(await openRailPair({ plugin, settings: { 'tcpx.hostRecv': true } }));
  const nics = 'eth1,addr=127.0.0.11,pci=/sys/devices/pci0000:00/0000:00:04.0';
  await moveChecked(await openRailPair({ plugin: { ...plugin, TCPX_EMU_NICS: nics } }));
});
