// `npm run test:gpu`: the tests that need a GPU, then the kernels again under compute-sanitizer.
// Exit 0 good, 1 a test failed, 3 no GPU here.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { gpuAbsence } from '../src/ffi/cuda/driver.js';

const TESTS = [
  'src/ffi/cuda/gpu-memory.test.js',
  'src/gpu/kernel-queue.test.js',
  'src/gpu/staging-memory.test.js',
  'src/gpu/gpu-leak.test.js',
  'src/engine/gpu-loopback.test.js',
  'src/engine/gpu-failover.test.js',
  'src/bench/bench-vram.test.js',
].map((path) => fileURLToPath(new URL(`../${path}`, import.meta.url)));
const KERNEL_TESTS = TESTS[1] ?? '';
const SANITIZER = 'compute-sanitizer';
/** Every access is checked, so a few random cases of each property must do. */
const SANITIZER_ROUNDS = 4;
const SANITIZER_FOUND = 86;
const SANITIZER_MS_MAX = 180_000;

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

function runTests(): boolean {
  const words = ['--test', '--test-reporter=spec', '--test-concurrency=1', ...TESTS];
  return spawnSync(process.execPath, words, { stdio: 'inherit' }).status === 0;
}

function runSanitizer(): boolean {
  if (spawnSync(SANITIZER, ['--version']).status !== 0) {
    say(`${SANITIZER}: not installed here, its check is left out`);
    return true;
  }
  say(`${SANITIZER} (memcheck) over ${SANITIZER_ROUNDS} random cases of each property:`);
  const words = ['--tool', 'memcheck', '--error-exitcode', String(SANITIZER_FOUND)];
  const result = spawnSync(SANITIZER, [...words, process.execPath, KERNEL_TESTS], {
    stdio: 'inherit',
    timeout: SANITIZER_MS_MAX,
    env: { ...process.env, TCPX_TEST_GPU_ROUNDS: String(SANITIZER_ROUNDS) },
  });
  if (result.status === 0) return true;
  const timedOut = result.error !== undefined || result.signal !== null;
  say(`${SANITIZER}: ${timedOut ? `no end within ${SANITIZER_MS_MAX} ms` : 'found errors'}`);
  return false;
}

const absence = gpuAbsence();
if (absence !== undefined) {
  say(`test:gpu needs a GPU: ${absence}`);
  process.exitCode = 3;
} else {
  const outcomes = [runTests(), runSanitizer()];
  process.exitCode = outcomes.every(Boolean) ? 0 : 1;
}
