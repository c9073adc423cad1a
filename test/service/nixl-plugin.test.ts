// The NIXL plugin, driven as an agent of NIXL drives it, over real services.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CUDA_LIBRARY } from '../../src/ffi/cuda/driver.js';
import { NixlStatus } from '../../src/nixl/status.js';
import { fakeCudaPath } from '../native/plugin-environment.js';
import {
  CHECK_PLUGIN,
  CHECK_PROGRAM,
  hasCxx,
  move,
  type NixlEnd,
  needsCxx,
  nixlEnd,
  nixlLoad,
  nixlMemory,
  nixlProgram,
  notifs,
  posted,
} from './nixl-world.js';
import { type RunningService, ServiceWorld } from './service-world.js';

const S = NixlStatus;
const BYTES = 1_000_003;
const world = new ServiceWorld();
let service: RunningService;
let a: NixlEnd;
let b: NixlEnd;

before(async () => {
  if (!hasCxx) return;
  service = await world.service();
  a = await nixlEnd(world, service, 'alice');
  b = await nixlEnd(world, service, 'bob');
});
after(() => world.close());

const options = { skip: needsCxx };

test(
  'nixl plugin: shows two symbols, needs no C++ run time, is position-independent',
  options,
  () => {
    const run = (tool: string, ...words: string[]) =>
      spawnSync(tool, [...words, CHECK_PLUGIN], { encoding: 'utf8' }).stdout;
    const shown = run('nm', '-D', '--defined-only').trim().split('\n');
    assert.deepEqual(
      shown.map((line) => line.split(' ')[2]),
      ['nixl_plugin_fini', 'nixl_plugin_init'],
    );
    const dynamic = run('readelf', '-dW');
    const needed = [...dynamic.matchAll(/NEEDED.*\[(.*?)\]/g)].map(([, name = '']) => name);
    assert.ok(
      needed.every((name) => /^(libc|libm|ld-linux)/.test(name)),
      needed.join(),
    );
    assert.doesNotMatch(dynamic, /TEXTREL/);
  },
);

test('nixl plugin: says what it is, and what its parameters mean', options, async () => {
  const [api, name, version, mems, ...rest] = (await a.program.do('plugin')).split(' ');
  assert.deepEqual([api, name, mems], ['1', 'TCPX', '2']);
  assert.match(version ?? '', /^\d+\.\d+\.\d+$/);
  const params = rest.join(' ');
  for (const option of ['service_folder=', 'engine.provider=', 'connect_ms=10000', 'log=errors']) {
    assert.ok(params.includes(option), option);
  }
  assert.match(params, /help=.*release_ms: how long .*any name with a dot/);
  assert.equal(await a.program.do('engine'), 'TCPX 111 0 1');
  const none = S.ERR_NOT_SUPPORTED;
  assert.equal(await a.program.do('more'), `${S.SUCCESS} ${none} ${none}`);
});

test('nixl plugin: write, read, repost, messages after the data and once', options, async () => {
  const here = await nixlMemory(a, BYTES, 'dram');
  const there = await nixlMemory(b, BYTES, 'dram');
  const target = await nixlLoad(a, b, there);
  await a.program.do('connect bob');
  await a.program.do(`fill ${here.id} 1`);
  const write = await move(a.program, `write bob ${here.id} ${target} ${BYTES}`, 'first');
  assert.equal(await b.program.do(`same ${there.id} 1`), `same ${BYTES}`);
  await a.program.do(`fill ${here.id} 2`);
  await posted(a.program, `post ${write} second`);
  // Whoever has the message has the bytes, without a look at the sender.
  const said = await notifs(b.program, 2);
  assert.equal(await b.program.do(`same ${there.id} 2`), `same ${BYTES}`);
  assert.deepEqual(said, ['alice:first', 'alice:second']);
  await a.program.do(`wait ${write} 20000`);
  await posted(a.program, `post ${write}`);
  await a.program.do(`wait ${write} 20000`);
  await posted(a.program, `postempty ${write}`);
  assert.deepEqual(await notifs(b.program, 1), ['alice:']);
  await b.program.do(`fill ${there.id} 3`);
  const read = await move(a.program, `read bob ${here.id} ${target} ${BYTES}`, 'read');
  assert.equal(await a.program.do(`same ${here.id} 3`), `same ${BYTES}`);
  assert.deepEqual(await notifs(b.program, 1), ['alice:read']);
  assert.equal(await b.program.do('notifs'), '0');
  const [duration = '', margin = ''] = (await a.program.do(`cost ${read}`)).split(' ');
  assert.ok(Number(duration) > 0 && Number(margin) > 0, `${duration} ± ${margin} µs`);
  for (const transfer of [write, read]) await a.program.do(`release ${transfer}`);
  await a.program.do(`unload ${target}`);
  for (const [end, id] of [
    [a, here.id],
    [b, there.id],
  ] as const) {
    await end.program.do(`deregister ${id}`);
  }
});

test('nixl plugin: many descriptors, apart and side by side', options, async () => {
  const here = await nixlMemory(a, 1000 * 64, 'dram');
  const there = await nixlMemory(b, 1000 * 64, 'dram');
  const target = await nixlLoad(a, b, there);
  for (const [seed, shape] of [
    [4, '40 1000 64'],
    [5, '64 1000'],
    [6, '0 1'],
  ] as const) {
    await a.program.do(`fill ${here.id} ${seed}`);
    await b.program.do(`fill ${there.id} 9`);
    const transfer = await a.program.do(`write bob ${here.id} ${target} ${shape}`);
    const { status } = await a.program.ask(`post ${transfer} done`);
    if (status === S.IN_PROG) await a.program.do(`wait ${transfer} 20000`);
    else assert.equal(status, S.SUCCESS);
    assert.deepEqual(await notifs(b.program, 1), ['alice:done']);
    const same = await b.program.do(`same ${there.id} ${seed}`);
    // The byte after the first 40 is not of the transfer; it is equal by chance or not at all.
    assert.match(same, seed === 5 ? /^same/ : /^differs/);
  }
});

test('nixl plugin: four threads post and notify, each message comes once', options, async () => {
  const here = await nixlMemory(a, 8 * 4096, 'dram');
  const there = await nixlMemory(b, 8 * 4096, 'dram');
  const target = await nixlLoad(a, b, there);
  await a.program.do(`storm 4 100 write bob ${here.id} ${target} 4096 8`);
  const said = await notifs(b.program, 400);
  const meant = Array.from({ length: 400 }, (_, i) => `alice:${Math.trunc(i / 100)}/${i % 100}`);
  assert.deepEqual(said.sort(), meant.sort());
  assert.equal(await b.program.do('notifs'), '0');
});

test('nixl plugin: to itself, memory and messages', options, async () => {
  const from = await nixlMemory(a, BYTES, 'dram');
  const to = await nixlMemory(a, BYTES, 'dram');
  await a.program.do('connect alice');
  await a.program.do(`fill ${from.id} 7`);
  await move(a.program, `write alice ${from.id} s${to.id} ${BYTES}`, 'self');
  assert.equal(await a.program.do(`same ${to.id} 7`), `same ${BYTES}`);
  assert.deepEqual(await notifs(a.program, 1), ['alice:self']);
  await a.program.do('notify alice to myself');
  assert.equal(await a.program.do('notifs'), '1|alice:to myself');
});

test('nixl plugin: messages of any length to 256 KiB, empty ones too', options, async () => {
  await a.program.do(`peer bob ${b.info}`);
  await a.program.do('notify bob with words');
  await a.program.do('notify bob');
  await a.program.do('notifylong bob 262144');
  assert.deepEqual(await notifs(b.program, 3), ['alice:with words', 'alice:', 'alice:262144']);
  assert.equal((await a.program.ask('notifylong bob 262145')).status, S.ERR_INVALID_PARAM);
  assert.equal((await a.program.ask('notify nobody hello')).status, S.ERR_NOT_FOUND);
});

test(
  'nixl plugin: a range registered twice has one key, and outlives the first',
  options,
  async () => {
    const here = await nixlMemory(a, BYTES, 'dram');
    const [, addr, ...key] = (await a.program.do(`again ${here.id}`)).split(' ');
    assert.deepEqual([addr, key.join(' ')], [here.addr, here.key]);
    await a.program.do(`deregister ${here.id}`);
    const there = await nixlMemory(b, BYTES, 'dram');
    const target = await nixlLoad(b, a, here);
    await b.program.do(`fill ${there.id} 8`);
    await move(b.program, `write alice ${there.id} ${target} ${BYTES}`);
    await a.program.do(`deregister ${Number(here.id) + 1}`);
    const late = await b.program.do(`write alice ${there.id} ${target} ${BYTES}`);
    await posted(b.program, `post ${late}`);
    const { status } = await b.program.ask(`wait ${late} 20000`);
    assert.equal(status, S.ERR_NOT_ALLOWED, 'the peer is there, its memory is not');
  },
);

test('nixl plugin: what is wrong is refused with the status of NIXL', options, async () => {
  const here = await nixlMemory(a, 100, 'dram');
  const cases: readonly [string, number][] = [
    ['memory 100 file', S.ERR_NOT_SUPPORTED],
    ['peer carol nonsense', S.ERR_MISMATCH],
    ['region carol 4096 100 dram key', S.ERR_NOT_FOUND],
    ['region bob 4096 100 dram key', S.ERR_MISMATCH],
    [`region bob 4096 100 file ${here.key}`, S.ERR_NOT_SUPPORTED],
    ['connect carol', S.ERR_NOT_FOUND],
    ['disconnect carol', S.ERR_NOT_FOUND],
    [`write alice ${here.id} s${here.id} 101`, S.ERR_INVALID_PARAM],
    // The second of two lies before its memory.
    [`write alice ${here.id} s${here.id} 50 2 ${2n ** 64n - 50n}`, S.ERR_INVALID_PARAM],
    [`write alice ${here.id} s${here.id} 50 2`, S.SUCCESS],
    [`write carol ${here.id} s${here.id} 10`, S.ERR_NOT_FOUND],
    [`write bob ${here.id} s${here.id} 10`, S.ERR_INVALID_PARAM],
  ];
  await a.program.do(`peer bob ${b.info}`);
  for (const [line, meant] of cases) {
    assert.equal((await a.program.ask(line)).status, meant, line);
  }
  const other = b.info.replace(/\d/g, '3');
  const { status } = await a.program.ask(`peer bob ${other}`);
  assert.ok(status === S.ERR_NOT_ALLOWED || status === S.ERR_MISMATCH, `${status}`);
});

for (const [what, words, meant] of [
  [
    'no service',
    'service_folder=/nonexistent',
    /attach to the service \(tcpx serve\).*nonexistent/,
  ],
  ['a setting that does not exist', 'engine.provier=tcp', /engine\.prov/],
  ['a number that is none', 'connect_ms=soon', /connect_ms=soon: expected ms, 0 to 600000/],
] as const) {
  test(`nixl plugin: ${what} fails the creation, with a line that says so`, options, () => {
    const folder = words.startsWith('service_folder') ? '' : `service_folder=${service.folder}`;
    const { stdout, stderr } = spawnSync(CHECK_PROGRAM, [CHECK_PLUGIN], {
      encoding: 'utf8',
      input: `create carol ${folder} ${words}\n`,
    });
    assert.match(stdout, /^-3 not created/);
    assert.match(stderr, meant);
    assert.match(stderr, /^TCPX backend of carol: /);
  });
}

test('nixl plugin: provider and settings reach the engine', options, async () => {
  const asked = await nixlProgram(world).ask(
    `create carol service_folder=${service.folder} engine.provider=tcpx log=none`,
  );
  assert.equal(asked.status, S.ERR_BACKEND, 'there is no plugin here');
  const env = { NIXL_TCPX_ENGINE_PROVIDER: 'tcpx' };
  const told = await nixlProgram(world, { env }).ask(
    `create carol service_folder=${service.folder} log=none`,
  );
  assert.equal(told.status, S.ERR_BACKEND, 'the environment speaks where no parameter does');
  await nixlEnd(world, service, 'carol', { env, params: 'engine.provider=tcp lane.count=1' });
});

test(
  'nixl plugin: memory is queried by its exact range; telemetry is told at the end',
  options,
  () => {
    const input = [
      `create erin service_folder=${service.folder} telemetry=1`,
      'memory 100 dram',
      'query 0',
      'destroy',
    ].join('\n');
    const told = spawnSync(CHECK_PROGRAM, [CHECK_PLUGIN], { encoding: 'utf8', input });
    assert.match(told.stdout, /^0 copied \{"provider":"tcp",.*"rails":\[\]\} -$/m);
    assert.match(told.stderr, /^TCPX backend of erin: telemetry \{"provider":"tcp",/m);
  },
);

test('nixl plugin: a child destroys what it inherited; the parent goes on', options, async () => {
  assert.equal(await a.program.do('fork'), '0');
  await a.program.do('notify alice still here');
  assert.equal(await a.program.do('notifs'), '1|alice:still here');
});

test('nixl plugin: GPU memory, to GPU memory and to host memory', options, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tcpx-cuda-'));
  symlinkSync(fakeCudaPath, join(folder, CUDA_LIBRARY));
  const env = { LD_LIBRARY_PATH: folder };
  try {
    const gpuService = await world.service({ env });
    const c = await nixlEnd(world, gpuService, 'carol', { env });
    const d = await nixlEnd(world, gpuService, 'dave', { env });
    const here = await nixlMemory(c, BYTES, 'vram');
    for (const kind of ['vram', 'dram']) {
      const there = await nixlMemory(d, BYTES, kind);
      const target = await nixlLoad(c, d, there);
      await c.program.do(`fill ${here.id} 1`);
      await move(c.program, `write dave ${here.id} ${target} ${BYTES}`, kind);
      assert.deepEqual(await notifs(d.program, 1), [`carol:${kind}`]);
      assert.equal(await d.program.do(`same ${there.id} 1`), `same ${BYTES}`);
      await d.program.do(`fill ${there.id} 2`);
      await move(c.program, `read dave ${here.id} ${target} ${BYTES}`);
      assert.equal(await c.program.do(`same ${here.id} 2`), `same ${BYTES}`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
