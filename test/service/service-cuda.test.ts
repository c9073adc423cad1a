// GPU memory of a program, shared with the service by CUDA IPC; on a stand-in for the driver, whose
// device memory the processor cannot touch.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceStatus } from '../../src/base/service-status.js';
import { CUDA_LIBRARY } from '../../src/ffi/cuda/driver.js';
import { fakeCudaPath } from '../native/plugin-environment.js';
import { addMemory, load, ServiceWorld } from './service-world.js';

const BYTES = 2 * 1024 * 1024 + 5;
const RELEASE_MS_MAX = 10_000;
const world = new ServiceWorld();
const folder = mkdtempSync(join(tmpdir(), 'tcpx-cuda-'));
symlinkSync(fakeCudaPath, join(folder, CUDA_LIBRARY));
const env = { LD_LIBRARY_PATH: folder };
after(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

/** Allocations of the stand-in that this process has mapped: what it has opened and not closed. */
function openedByService(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/maps`, 'utf8');
  return maps.split('\n').filter((line) => line.includes('memfd:fake-cuda')).length;
}

test('service: GPU memory of two programs, to each other, to host memory and back', async () => {
  const service = await world.service({ env });
  const a = await world.end(service, 'alice', { env });
  const b = await world.end(service, 'bob', { env });
  const moves = [
    ['cuda', 'cuda', 'ipc'],
    ['cuda', 'malloc', 'ipc'],
    ['vmm', 'pool', 'vmm'],
    ['pool', 'vmm', 'pool'],
  ] as const;
  for (const [own, kind, way] of moves) {
    const here = await addMemory(a, BYTES, own);
    assert.equal(here.way, way);
    const there = await addMemory(b, BYTES, kind);
    const { peer, region } = await load(a, b, there);
    await a.program.do(`fill ${here.id} 5`);
    const request = await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await b.program.do(`check ${there.id} 5`), `same ${BYTES}`);
    const receipt = JSON.parse(await a.program.do(`receipt ${request}`)) as {
      path: string;
      memory: string[];
    };
    assert.deepEqual([receipt.path, receipt.memory], ['shm staged', [way]]);
    await b.program.do(`fill ${there.id} 6`);
    await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
    assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
  }
  const hidden = await a.program.ask(`memory ${BYTES} hidden`);
  assert.equal(hidden.status, serviceStatus('ERR_MEMORY'));
  assert.match(hidden.text, /not made to be exported by file descriptor/);
  const long = await a.program.ask(`memory ${129 * 2 * 1024 * 1024} vmm`);
  assert.equal(long.status, serviceStatus('ERR_MEMORY'));
  assert.match(long.text, /more than 128 allocations: register them in parts/);
  await a.program.kill();
  const c = await world.end(service, 'carol', { env });
  await addMemory(c, BYTES, 'cuda');
});

test('service: GPU memory of a program that is killed is let go of, all of it', async () => {
  const service = await world.service({ env });
  const a = await world.end(service, 'alice', { env });
  const b = await world.end(service, 'bob', { env });
  const there = await addMemory(b, BYTES, 'cuda');
  const before = openedByService(service.pid);
  assert.ok(before > 0, 'what bob has lent is seen');
  const { peer, region } = await load(a, b, there);
  for (const kind of ['cuda', 'vmm', 'pool']) {
    const opened = openedByService(service.pid);
    for (let count = 0; count < 4; count++) await addMemory(a, BYTES, kind);
    assert.ok(openedByService(service.pid) >= opened + 4, `${kind} is opened by the service`);
  }
  // In flight, or just over, when its memory goes.
  const here = await addMemory(a, BYTES, 'cuda');
  const request = await a.program.do(`prepare ${peer} ${here.id} ${region} ${BYTES}`);
  await a.program.do(`post ${request}`);
  await a.program.kill();
  const endMs = performance.now() + RELEASE_MS_MAX;
  while (openedByService(service.pid) > before && performance.now() < endMs) await delay(20);
  assert.equal(openedByService(service.pid), before);
  await b.program.do(`fill ${there.id} 3`);
  assert.equal(await b.program.do(`check ${there.id} 3`), `same ${BYTES}`);
});

test('service: GPU memory beyond its allocation is refused, whatever a client says', async () => {
  const service = await world.service({ env });
  const a = await world.end(service, 'alice', { env });
  for (const kind of ['cuda', 'pool', 'vmm']) {
    for (const how of ['long', 'offset']) {
      const reply = await a.program.ask(`break extent ${kind} ${how}`);
      assert.equal(reply.status, serviceStatus('ERR_MEMORY'), `${kind} ${how}: ${reply.text}`);
      assert.match(reply.text, /reach over a GPU allocation of 2097152/);
    }
  }
  await addMemory(a, BYTES, 'cuda');
});

test('service: a program without a driver is told so', async () => {
  const service = await world.service();
  const a = await world.end(service, 'alice', { env });
  const reply = await a.program.ask(`memory ${BYTES} cuda`);
  assert.equal(reply.status, serviceStatus('ERR_DEVICE'), reply.text);
});
