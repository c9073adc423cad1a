// Programs of two services whose engines move data through the NCCL net plugin, in the place of
// which stands the emulator: host memory, GPU memory on the stand-in for the driver, four NICs.
// What the plugin cannot take goes over tcp in the same session, and the receipt says so.

import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serviceStatus } from '../../src/base/service-status.js';
import { CUDA_LIBRARY } from '../../src/ffi/cuda/driver.js';
import { fakeCudaPath } from '../native/plugin-environment.js';
import { emulatedService, NICS, railsOf, type SeenTelemetry } from './emulated-service.js';
import { move, needsCxx, nixlEnd, nixlLoad, nixlMemory, nixlQuery, notifs } from './nixl-world.js';
import { addMemory, type End, load, type RunningService, ServiceWorld } from './service-world.js';

const BYTES = 2 * 1024 * 1024 + 5;
const world = new ServiceWorld();
const cuda = { LD_LIBRARY_PATH: world.newFolder() };
symlinkSync(fakeCudaPath, join(cuda.LD_LIBRARY_PATH, CUDA_LIBRARY));
let north: RunningService;
let south: RunningService;
let a: End;
let b: End;

async function attach(service: RunningService, name: string): Promise<End> {
  const program = world.program({ env: cuda });
  const info = await program.do(`open ${service.folder} ${name} engine.provider=tcpx`);
  return { program, name, info };
}

before(async () => {
  [north, south] = await Promise.all([emulatedService(world, cuda), emulatedService(world, cuda)]);
  [a, b] = await Promise.all([attach(north, 'alice'), attach(south, 'bob')]);
});
after(() => world.close());

interface SeenReceipt {
  readonly provider: string;
  readonly providerReason: string;
  readonly memory: readonly string[];
  readonly channels: readonly { readonly nic: string; readonly bytes: number }[];
  readonly plugin?: { readonly evidence: string; readonly memory: readonly string[] };
}

/** Written there and read back, every byte compared; the receipt of the write. */
async function moveBoth(own: string, theirs: string): Promise<SeenReceipt> {
  const here = await addMemory(a, BYTES, own);
  const there = await addMemory(b, BYTES, theirs);
  const { peer, region } = await load(a, b, there);
  await a.program.do(`fill ${here.id} 5`);
  const request = await a.program.do(`write ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await b.program.do(`check ${there.id} 5`), `same ${BYTES}`);
  const receipt = JSON.parse(await a.program.do(`receipt ${request}`)) as SeenReceipt;
  await b.program.do(`fill ${there.id} 6`);
  await a.program.do(`read ${peer} ${here.id} ${region} ${BYTES}`);
  assert.equal(await a.program.do(`check ${here.id} 6`), `same ${BYTES}`);
  await a.program.do(`deregister ${here.id}`);
  await b.program.do(`deregister ${there.id}`);
  return receipt;
}

const THROUGH = [
  ['alloc', 'alloc', 'shared'],
  ['file', 'cuda', 'shared'],
  ['cuda', 'cuda', 'ipc'],
  ['vmm', 'pool', 'vmm'],
  ['pool', 'vmm', 'pool'],
] as const;
for (const [own, theirs, way] of THROUGH) {
  test(`service tcpx: ${own} to ${theirs} memory goes through the plugin as ${way}`, async () => {
    const receipt = await moveBoth(own, theirs);
    assert.equal(receipt.provider, 'tcpx', receipt.providerReason);
    assert.deepEqual([receipt.memory, receipt.plugin?.memory], [[way], [way]]);
    assert.equal(receipt.plugin?.evidence, 'emulated');
    assert.deepEqual(receipt.channels.map(({ nic }) => nic).sort(), NICS);
  });
}

const BESIDE = [
  ['malloc', 'alloc', 'copied', /region \d+ is host memory that is not shared/],
  ['cuda', 'malloc', 'ipc', /peer/],
] as const;
for (const [own, theirs, way, reason] of BESIDE) {
  test(`service tcpx: ${own} to ${theirs} memory goes over tcp, and says why`, async () => {
    const receipt = await moveBoth(own, theirs);
    assert.equal(receipt.provider, 'tcp');
    assert.deepEqual(receipt.memory, [way]);
    assert.match(receipt.providerReason, reason);
  });
}

test('service tcpx: memory that cannot be exported is refused by name', async () => {
  const { status, text } = await a.program.ask(`memory ${BYTES} hidden`);
  assert.equal(status, serviceStatus('ERR_MEMORY'));
  assert.match(text, /not made to be exported by file descriptor/);
});

test('service tcpx: telemetry names the rails, each with its provider', async () => {
  const seen = JSON.parse(await a.program.do('telemetry')) as SeenTelemetry;
  assert.equal(seen.provider, 'tcpx');
  assert.match(seen.providerReason, /NICs eth1, eth2, eth3, eth4/);
  assert.deepEqual(railsOf(seen, 'tcpx').sort(), NICS);
  assert.ok(railsOf(seen, 'tcp').length > 0);
});

test('service tcpx: the NIXL plugin, by parameter and by environment', {
  skip: needsCxx,
}, async () => {
  const byParameter = { env: cuda, params: 'engine.provider=tcpx' };
  const byEnvironment = { env: { ...cuda, NIXL_TCPX_ENGINE_PROVIDER: 'tcpx' } };
  const [c, d] = await Promise.all([
    nixlEnd(world, north, 'carol', byParameter),
    nixlEnd(world, south, 'dave', byEnvironment),
  ]);
  const dram = await nixlMemory(c, BYTES, 'dram');
  const vram = await nixlMemory(c, BYTES, 'vram');
  for (const here of [vram, dram]) {
    const there = await nixlMemory(d, BYTES, here.kind);
    const target = await nixlLoad(c, d, there);
    await c.program.do(`fill ${here.id} 1`);
    await move(c.program, `write dave ${here.id} ${target} ${BYTES}`, here.kind);
    assert.deepEqual(await notifs(d.program, 1), [`carol:${here.kind}`]);
    assert.equal(await d.program.do(`same ${there.id} 1`), `same ${BYTES}`);
    await d.program.do(`fill ${there.id} 2`);
    await move(c.program, `read dave ${here.id} ${target} ${BYTES}`);
    assert.equal(await c.program.do(`same ${here.id} 2`), `same ${BYTES}`);
    const { way, telemetry } = await nixlQuery(c, here);
    assert.equal(way, here.kind === 'vram' ? 'ipc' : 'copied');
    assert.deepEqual(railsOf(telemetry, 'tcpx').sort(), NICS);
    assert.equal(railsOf(telemetry, 'tcp').length > 0, here.kind === 'dram');
  }
});
