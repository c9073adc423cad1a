// An engine in a process of its own that is to be attacked. It listens on loopback with a secret,
// registers memory with guard bytes around it, and answers each line of its input with one line of
// JSON: `check SEED` gives the first wrong byte and whether the guards are whole, `region` one more
// region, `resources` what the process holds.

import { createInterface } from 'node:readline';
import { loadConfig } from '../../src/base/config.js';
import { createLog } from '../../src/base/log.js';
import { findMismatch } from '../../src/base/pattern.js';
import { Engine } from '../../src/engine/engine.js';
import { mappedBytes, openDescriptors } from '../support/process-resources.js';

const GUARD_BYTES = 4096;
const GUARD = 0xa5;

const options = JSON.parse(process.argv[2] ?? '{}') as { bytes: number; settings: object };
const world = new Uint8Array(options.bytes + 2 * GUARD_BYTES).fill(GUARD);
const memory = world.subarray(GUARD_BYTES, GUARD_BYTES + options.bytes);
let warnings = 0;
const codes = new Set<string>();

function warn(line: string): void {
  warnings++;
  const [, code] = /\bcode=(\w+)/.exec(line) ?? [];
  if (code !== undefined) codes.add(code);
}

function print(fact: object): void {
  process.stdout.write(`${JSON.stringify(fact)}\n`);
}

const engine = await Engine.open({
  name: 'hostile target',
  config: loadConfig({ options: options.settings, environment: {} }),
  log: createLog({ level: 'warn', format: 'text', write: warn }),
});
const { descriptor } = engine.register(memory);
print({ port: engine.listen({ host: '127.0.0.1', port: 0 }), descriptor });

function isWhole(): boolean {
  const guards = [world.subarray(0, GUARD_BYTES), world.subarray(GUARD_BYTES + options.bytes)];
  return guards.every((guard) => guard.every((byte) => byte === GUARD));
}

function resources(): object {
  (globalThis as { gc?: () => void }).gc?.();
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage();
  const kernel = { descriptors: openDescriptors(), mappedBytes: mappedBytes() };
  return {
    ...kernel,
    rss,
    heapUsed,
    arrayBuffers,
    sessions: engine.sessions.length,
    warnings,
    codes: [...codes],
  };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [verb, argument] = line.split(' ');
  if (verb === 'check') {
    print({ mismatchAt: findMismatch(memory, Number(argument)), isWhole: isWhole() });
  } else if (verb === 'region') {
    print({ descriptor: engine.register(new Uint8Array(options.bytes)).descriptor });
  } else if (verb === 'resources') {
    print({ resources: resources() });
  }
}
await engine.close();
