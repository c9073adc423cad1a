// The benchmark's check must be able to fail. The target here is the real one, in this process,
// with a hand on its memory: bytes change after they have landed, before they are checked.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { loadConfig } from '../../src/base/config.js';
import { createLog } from '../../src/base/log.js';
import { fillPattern } from '../../src/base/pattern.js';
import { decodeBenchMessage } from '../../src/bench/bench-message.js';
import type { BenchResult } from '../../src/bench/bench-result.js';
import { BenchTarget } from '../../src/bench/bench-target.js';
import { readHostFacts } from '../../src/bench/host-facts.js';
import { Engine, type Session } from '../../src/engine/internal.js';
import { runTcpx } from './child.js';

const SIZE_BYTES = 2 * 1024 * 1024;
const CHUNK_BYTES = 512 * 1024;
const ITERATIONS = 4;

/** Called with the target's memory between landing and check, or between fill and read. */
type Tamper = (memory: Uint8Array, seed: number) => void;

async function openTarget(t: TestContext, tamper: Tamper) {
  const secret = randomBytes(12).toString('hex');
  const config = loadConfig({ options: { 'trust.secret': secret } });
  const log = createLog({ level: 'warn', format: 'text' });
  let memory = new Uint8Array(0);
  const target = new BenchTarget({
    engine: () => engine,
    host: readHostFacts(''),
    log,
    gpu: 0,
    pages: 'auto',
    clients: 1,
    onReport: () => undefined,
    onFinished: () => undefined,
  });
  const engine = await Engine.open({
    name: 'tampered-target',
    config,
    log,
    onSession: (session) => target.onSession(session),
    onNotification: ({ session, bytes }) => {
      const message = decodeBenchMessage(bytes);
      if (message.kind === 'check' && message.isVerify) tamper(memory, message.seed);
      if (message.kind === 'prepare' && message.isFill) {
        beforeAnswer(session, () => tamper(memory, message.seed));
      }
      target.onNotification(session, bytes);
    },
  });
  t.after(() => engine.close());
  // The real engine, which tells what it allocates.
  const allocate = engine.allocate.bind(engine);
  engine.allocate = (...words) => {
    const allocated = allocate(...words);
    memory = new Uint8Array(allocated.buffer);
    return allocated;
  };
  return { port: engine.listen({ port: 0 }), secret };
}

/** A lane serves the read as soon as the answer is out: memory changes before. */
function beforeAnswer(session: Session, act: () => void): void {
  const notify = session.notify.bind(session);
  session.notify = (...words) => {
    session.notify = notify;
    act();
    return notify(...words);
  };
}

async function runAgainst(t: TestContext, op: string, tamper: Tamper) {
  const { port, secret } = await openTarget(t, tamper);
  const flags = ['--op', op, '--size', String(SIZE_BYTES), '--iters', String(ITERATIONS)];
  const words = ['bench', 'client', '127.0.0.1', '--port', String(port), '--json', ...flags];
  const run = await runTcpx([...words, '--warmup', '0'], {
    NIXL_TCPX_TRUST_SECRET: secret,
  });
  return { ...run, result: JSON.parse(run.stdout) as BenchResult };
}

function flipOneBit(memory: Uint8Array, seed: number): void {
  const at = 1_234_567;
  if (seed === 3) memory[at] = (memory[at] ?? 0) ^ 0x10;
}

// What a chunk that never came leaves behind: the bytes of the iteration before.
function leaveOldChunk(memory: Uint8Array, seed: number): void {
  if (seed !== 2) return;
  const at = 2 * CHUNK_BYTES;
  fillPattern(memory.subarray(at, at + CHUNK_BYTES), seed - 1, at);
}

function swapTwoChunks(memory: Uint8Array, seed: number): void {
  if (seed !== 4) return;
  const first = memory.slice(0, CHUNK_BYTES);
  memory.copyWithin(0, CHUNK_BYTES, 2 * CHUNK_BYTES);
  memory.set(first, CHUNK_BYTES);
}

const FAULTS: readonly (readonly [string, Tamper])[] = [
  ['one bit that flipped', flipOneBit],
  ['a chunk that was skipped', leaveOldChunk],
  ['two chunks in each other’s place', swapTwoChunks],
];

for (const op of ['write', 'read']) {
  for (const [name, tamper] of FAULTS) {
    test(`bench verify: ${name}, ${op}, makes the answer no`, async (t) => {
      const { exitCode, stderr, result } = await runAgainst(t, op, tamper);
      assert.equal(exitCode, 1, stderr);
      assert.equal(result.ok, false);
      assert.deepEqual(result.verified, { iterations: ITERATIONS, mismatches: 1 });
      assert.match(stderr, /^ERR_XFER_VERIFY: 1 of 4 .*\n$/);
    });
  }
}

test('bench verify: the same target, left alone, is good', async (t) => {
  const { exitCode, stderr, result } = await runAgainst(t, 'write', () => undefined);
  assert.equal(exitCode, 0, stderr);
  assert.deepEqual(result.verified, { iterations: ITERATIONS, mismatches: 0 });
});

test('bench sweep: settings by which bytes are wrong have no figure', async (t) => {
  const { port, secret } = await openTarget(t, (memory) => memory.fill(1, 5, 6));
  const flags = ['--size', '64KiB,128KiB', '--rounds', '1', '--iters', '3', '--warmup', '0'];
  const { exitCode, stdout, stderr } = await runTcpx(
    ['bench', 'sweep', '127.0.0.1', '--port', String(port), ...flags],
    { NIXL_TCPX_TRUST_SECRET: secret },
  );
  assert.deepEqual([exitCode, stdout], [1, '']);
  assert.match(stderr, /^ERR_XFER_VERIFY: bench\.sizeBytes=65536: 3 of 3 verified .* differ/m);
});
