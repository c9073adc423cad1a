// Benchmarks of GPU memory: the ping-pong by notification on simulated GPUs, whole runs where there
// is a GPU.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openEngine } from '../../test/support/engine-pair.js';
import { registerSimulated } from '../../test/support/gpu-memory.js';
import { SIMULATED_GPU_MODULE, SimulatedGpus } from '../../test/support/simulated-gpu.js';
import { loadConfig } from '../base/config.js';
import { silentLog } from '../base/log.js';
import type { SettingValues } from '../base/settings.js';
import type { Engine, RegionSource } from '../engine/internal.js';
import { gpuAbsence } from '../ffi/cuda/driver.js';
import type { BenchMemory } from './bench-memory.js';
import { runLoopback } from './loopback.js';
import { createPingPongEnd, MarkCounter } from './ping-pong.js';
import { PingPongGame } from './ping-pong-game.js';

after(closeEngines);

const absence = gpuAbsence();
const SKIP = { skip: absence === undefined ? false : `needs a GPU: ${absence}` };
const BYTES = 4096;

/** Only what a ping-pong by notification asks for: its memory is never touched. */
function outOfReach(): BenchMemory {
  const refuse = (): never => {
    throw new Error('GPU memory is not the CPU’s to touch');
  };
  const rest = {
    fill: refuse,
    settle: refuse,
    findMismatch: refuse,
    free: refuse,
    pages: undefined,
  };
  return { kind: 'vram', bytes: BYTES, source: new Uint8Array(1), view: undefined, ...rest };
}

test('ping-pong: GPU memory is answered by notification, turn by turn', async () => {
  const marks = new MarkCounter();
  const seen: number[] = [];
  const server = await openEngine(
    {},
    {
      gpuModule: SIMULATED_GPU_MODULE,
      onNotification: ({ session, bytes }) => {
        seen.push(there.memory[0] ?? 0);
        session.write([back], { notify: bytes });
      },
    },
  );
  const client = await openEngine(
    {},
    {
      gpuModule: SIMULATED_GPU_MODULE,
      onNotification: ({ bytes }) => assert.ok(marks.take(bytes)),
    },
  );
  const here = registerSimulated(client, BYTES, SimulatedGpus.Instant);
  const there = registerSimulated(server, BYTES, SimulatedGpus.Instant);
  const places = { localOffset: 0, remoteOffset: 0, bytes: BYTES };
  const back = { local: there.region, remote: here.region.descriptor, ...places };
  const session = await client.connect('127.0.0.1', server.listen({ port: 0 }));
  const outbox = registerSimulated(client, BYTES, SimulatedGpus.Instant);
  const { source } = outbox.region;
  const fill = (): void => void outbox.memory.fill(5);
  const allocate = () => ({ ...outOfReach(), source, fill, settle: () => undefined });
  const own = { memory: outOfReach(), allocate };
  // Both ends live in this thread: whoever polls one moves both.
  const poll = (): void => {
    client.poll();
    server.poll();
  };
  const register = (memory: RegionSource) => client.register(memory);
  const both = { poll, register } as unknown as Engine;
  const end = createPingPongEnd(both, session, own, there.region.descriptor, marks);
  const game = new PingPongGame(end, { count: 50, isFirst: true, timeoutMs: 20_000 });
  assert.equal(game.play(20_000)?.length, 50);
  assert.deepEqual(seen, new Array<number>(50).fill(5), 'the data is there with each mark');
});

const RUNS: readonly Partial<SettingValues>[] = [
  { 'bench.op': 'write' },
  { 'bench.op': 'read', 'flow.channels': 2, 'lane.count': 2 },
  { 'bench.op': 'write', 'bench.blockBytes': 5000 },
  { 'bench.op': 'read', 'bench.blockBytes': 5000, 'lane.progress': 'caller' },
  { 'bench.op': 'pingpong', 'bench.sizeBytes': 4096, 'lane.progress': 'caller' },
];

for (const options of RUNS) {
  const name = Object.values(options).join(' ');
  test(`bench: GPU memory is moved and verified, ${name}`, SKIP, async () => {
    const config = loadConfig({
      options: {
        'bench.memory': 'vram',
        'bench.sizeBytes': 5_000_000,
        'bench.iterations': 5,
        'bench.warmupSeconds': 0,
        ...options,
      },
      environment: {},
    });
    const result = await runLoopback({ config, log: silentLog, onProgress: () => undefined });
    assert.ok(result.ok);
    assert.equal(result.memory, 'vram');
    const isPingPong = options['bench.op'] === 'pingpong';
    assert.equal(result.verified.iterations, isPingPong ? 1 : 10);
    if (!isPingPong) assert.equal(result.path, 'tcp staged');
    assert.ok(result.latencyUs.p50 > 0);
  });
}
