// The other process of the GPU tests: an engine that opens regions, fills and verifies them when
// asked. Forked by gpu-loopback.ts; talks by messages. Arguments: `simulated` or `cuda`, settings.

import { createLog } from '../../src/base/log.js';
import type { SettingValues } from '../../src/base/settings.js';
import { Engine } from '../../src/engine/engine.js';
import type { Region } from '../../src/memory/region.js';
import { type LoopbackAnswer, type LoopbackQuestion, layOut } from './gpu-loopback.js';
import { openPatternMemory, type PatternMemory } from './pattern-memory.js';
import { SIMULATED_GPU_MODULE } from './simulated-gpu.js';

const [hardware = '', settings = '{}'] = process.argv.slice(2);
const engine = await Engine.open({
  settings: JSON.parse(settings) as Partial<SettingValues>, // from our own parent
  log: createLog({ level: 'error', format: 'text' }),
  ...(hardware === 'simulated' ? { gpuModule: SIMULATED_GPU_MODULE } : {}),
});
engine.listen({ port: 0 });

let open: { memory: PatternMemory; region: Region } | undefined;

async function answer(question: LoopbackQuestion): Promise<LoopbackAnswer> {
  const blocks = layOut(question.count, question.blockBytes);
  if (question.kind === 'open') {
    const memory = openPatternMemory(question.memory, question.count * question.blockBytes);
    open = { memory, region: engine.register(memory.source) };
  } else if (question.kind === 'fill') {
    for (const { localOffset, remoteOffset, bytes } of blocks) {
      open?.memory.fill(remoteOffset, bytes, question.seed, localOffset);
    }
    open?.memory.settle();
  } else if (question.kind === 'verify') {
    for (const { localOffset, remoteOffset, bytes } of blocks) {
      const at = open?.memory.findMismatch(remoteOffset, bytes, question.seed, localOffset) ?? 0;
      if (at >= 0) return { port: engine.port, mismatchAt: remoteOffset + at };
    }
  } else if (open !== undefined) {
    await engine.deregister(open.region, 2000);
    open.memory.free();
    open = undefined;
  }
  const descriptor = open?.region.descriptor;
  return { port: engine.port, mismatchAt: -1, ...(descriptor === undefined ? {} : { descriptor }) };
}

process.on('message', (question: LoopbackQuestion) => {
  answer(question).then(
    (said) => process.send?.(said),
    (error: unknown) => process.send?.({ port: 0, mismatchAt: -1, failure: String(error) }),
  );
});
process.on('disconnect', () => {
  void engine.close().then(() => {
    open?.memory.free();
    process.exit(0);
  });
});
process.send?.({ port: engine.port, mismatchAt: -1 });
