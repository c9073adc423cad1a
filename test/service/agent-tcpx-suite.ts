// An agent in TypeScript, a program with the NIXL plugin and one with the C library, all through
// the emulated plugin with four NICs: GPU and host memory from either end, messages after their
// data. Runs on a GPU, or on a stand-in for libcuda that agent-tcpx.test.ts puts in its place.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { silentLog } from '../../src/base/log.js';
import { liveSession } from '../../src/engine/session-face.js';
import { Agent } from '../../src/nixl/agent.js';
import { openBackendOf } from '../../src/nixl/backend-set.js';
import { MemType, XferOp } from '../../src/nixl/memory-type.js';
import { TcpxBackend } from '../../src/nixl/tcpx-backend.js';
import type { ContractMemory } from '../contract/backend-world.js';
import { deviceMemory } from '../contract/device-world.js';
import { sharedMemory, usePlugin } from '../contract/plugin-world.js';
import { until } from '../support/until.js';
import { emulatedService, NICS, railsOf, type SeenTelemetry } from './emulated-service.js';
import {
  blobOf,
  move,
  needsCxx,
  nixlEnd,
  nixlLoad,
  nixlMemory,
  nixlQuery,
  notifs,
  partsOf,
} from './nixl-world.js';
import { addMemory, load, type RunningService, ServiceWorld } from './service-world.js';

const BYTES = 2 * 1024 * 1024 + 5;
const WAIT_MS = 20_000;
const params = {
  ...usePlugin({ TCPX_EMU_MEMORY: 'cuda' }),
  'session.nics': NICS.join(','),
  'flow.channels': '4',
  'tcpx.processes': 'one',
};
const world = new ServiceWorld();
let service: RunningService;
let agent: Agent;
let backend: TcpxBackend;

before(async () => {
  service = await emulatedService(world);
  agent = await Agent.create('typescript', { log: silentLog });
  const handle = await agent.createBackend('TCPX', params);
  const opened = openBackendOf(handle).backend;
  assert.ok(opened instanceof TcpxBackend);
  backend = opened;
});
after(async () => {
  await agent.close();
  await world.close();
});

/** Memory of a program, in metadata of NIXL, and what the program does with it. */
interface FarMemory {
  readonly blob: Uint8Array;
  readonly addr: number;
  fill(seed: number): Promise<unknown>;
  isFilled(seed: number): Promise<boolean>;
  /** Moves all of it; resolves when the program says that it is done. */
  move(op: 'write' | 'read', target: string, notif: string): Promise<unknown>;
  /** What the program calls the only region of that metadata. */
  load(blob: Uint8Array): Promise<string>;
  /** The next message for the program, with its sender. */
  told(): Promise<string>;
  telemetry(): Promise<SeenTelemetry>;
}

async function pluginMemory(name: string, kind: 'dram' | 'vram'): Promise<FarMemory> {
  const end = await nixlEnd(world, service, name, { params: 'engine.provider=tcpx' });
  const memory = await nixlMemory(end, BYTES, kind);
  const { program } = end;
  return {
    blob: blobOf(end, memory, kind === 'vram' ? MemType.VRAM : MemType.DRAM),
    addr: Number(memory.addr),
    fill: (seed) => program.do(`fill ${memory.id} ${seed}`),
    isFilled: async (seed) => (await program.do(`same ${memory.id} ${seed}`)) === `same ${BYTES}`,
    move: (op, target, notif) =>
      move(program, `${op} typescript ${memory.id} ${target} ${BYTES}`, notif),
    load: async (blob) => {
      const parts = partsOf(blob);
      return nixlLoad(end, parts.end, parts.memory);
    },
    told: async () => (await notifs(program, 1)).join(),
    telemetry: async () => (await nixlQuery(end, memory)).telemetry,
  };
}

/** The C library has numbers instead of addresses; any will do in the metadata. */
async function libraryMemory(name: string, kind: 'alloc' | 'cuda'): Promise<FarMemory> {
  const program = world.program();
  const info = await program.do(`open ${service.folder} ${name} engine.provider=tcpx`);
  const end = { program, name, info };
  const memory = await addMemory(end, BYTES, kind);
  const addr = 4096;
  let peer = '';
  return {
    blob: blobOf(
      end,
      { ...memory, addr: String(addr) },
      kind === 'cuda' ? MemType.VRAM : MemType.DRAM,
    ),
    addr,
    fill: (seed) => program.do(`fill ${memory.id} ${seed}`),
    isFilled: async (seed) => (await program.do(`check ${memory.id} ${seed}`)) === `same ${BYTES}`,
    move: async (op, target, notif) => {
      if (op === 'read') return program.do(`read ${peer} ${memory.id} ${target} ${BYTES}`);
      const request = await program.do(`prepare ${peer} ${memory.id} ${target} ${BYTES}`);
      await program.do(`post ${request} 0 ${notif}`);
      return program.do(`wait ${request} ${WAIT_MS}`);
    },
    load: async (blob) => {
      const parts = partsOf(blob);
      const loaded = await load(end, parts.end, { ...memory, key: parts.memory.key });
      peer = loaded.peer;
      return loaded.region;
    },
    told: async () => {
      let said = '';
      await until('the message', WAIT_MS, async () => {
        const { status, text } = await program.ask('next');
        said = text.split(' ').slice(1).join(':');
        return status === 0;
      });
      return said;
    },
    telemetry: async () => JSON.parse(await program.do('telemetry')) as SeenTelemetry,
  };
}

/** Messages that the plugin has sent for sessions of the agent with that peer. */
function sentByPlugin(name: string): number {
  const sessions = backend.engine.sessions.filter((one) => one.peerName === name);
  const sets = sessions.flatMap((one) => liveSession(one).matched?.epochs.set ?? []);
  return sets.flatMap((set) => set.counters(0)).reduce((sum, { posted }) => sum + posted, 0);
}

async function toldAgent(): Promise<string[]> {
  return [...(await agent.waitNotifs(WAIT_MS))].flatMap(([name, messages]) =>
    messages.map((message) => `${name}:${Buffer.from(message).toString()}`),
  );
}

/**
 * Both ends write and read; whoever has the message has the bytes, before its sender knows. What
 * carried the agent's write.
 */
async function moveAll(
  name: string,
  here: ContractMemory,
  far: FarMemory,
): Promise<'tcp' | 'tcpx'> {
  const { memType } = here;
  const own = { memType, descs: [here] };
  await agent.registerMem(own);
  assert.equal(agent.loadRemoteMD(far.blob), name);
  const there = { memType, descs: [{ addr: far.addr, len: BYTES, devId: 0 }] };

  await far.fill(1);
  const read = agent.createXferReq(XferOp.READ, own, there, name);
  agent.postXferReq(read);
  await agent.waitXferReq(read);
  const seen = here.read(0, BYTES);

  await far.fill(2);
  const write = agent.createXferReq(XferOp.WRITE, own, there, name, { notif: 'written' });
  agent.postXferReq(write);
  assert.equal(await far.told(), 'typescript:written');
  assert.ok(await far.isFilled(1), 'what was read, written back');
  await agent.waitXferReq(write);
  const provider = sentByPlugin(name) > 0 ? 'tcpx' : 'tcp';

  const target = await far.load(agent.getLocalPartialMD(own, { includeConnInfo: true }));
  here.write(0, new Uint8Array(BYTES));
  const writing = far.move('write', target, 'back');
  assert.deepEqual(await toldAgent(), [`${name}:back`]);
  assert.ok(Buffer.from(here.read(0, BYTES)).equals(seen));
  await writing;

  await far.fill(3);
  await far.move('read', target, '');
  assert.ok(await far.isFilled(1));
  for (const request of [read, write]) agent.releaseXferReq(request);
  agent.invalidateRemoteMD(name);
  await agent.deregisterMem(own);
  return provider;
}

interface Row {
  readonly name: string;
  readonly memType: MemType;
  /** What carries it: a plugin reaches no private memory of a program. */
  readonly provider: 'tcp' | 'tcpx';
  readonly open: (name: string) => Promise<FarMemory>;
  readonly skip?: string | false;
}

const { DRAM, VRAM } = MemType;
const ROWS: readonly Row[] = [
  {
    name: 'plugin-vram',
    memType: VRAM,
    provider: 'tcpx',
    open: (n) => pluginMemory(n, 'vram'),
    skip: needsCxx,
  },
  {
    name: 'plugin-dram',
    memType: DRAM,
    provider: 'tcp',
    open: (n) => pluginMemory(n, 'dram'),
    skip: needsCxx,
  },
  { name: 'library-vram', memType: VRAM, provider: 'tcpx', open: (n) => libraryMemory(n, 'cuda') },
  { name: 'library-dram', memType: DRAM, provider: 'tcpx', open: (n) => libraryMemory(n, 'alloc') },
];
for (const { name, memType, provider, open, skip = false } of ROWS) {
  test(`agent and ${name}: both ways over ${provider}, the rails named`, { skip }, async () => {
    const far = await open(name);
    const here = memType === VRAM ? deviceMemory(BYTES) : sharedMemory(backend, memType, BYTES);
    assert.equal(await moveAll(name, here, far), provider);
    const telemetry = await far.telemetry();
    assert.equal(telemetry.provider, 'tcpx');
    const others = provider === 'tcpx' ? 'tcp' : 'tcpx';
    assert.deepEqual(railsOf(telemetry, others), []);
    const rails = railsOf(telemetry, provider).sort();
    if (provider === 'tcpx') assert.deepEqual(rails, NICS);
    else assert.ok(rails.length > 0, JSON.stringify(telemetry));
  });
}
