// The far side of the agent's benchmark: an agent that listens, and moves until its input ends.

import { Agent } from '../../src/nixl/agent.js';
import { describeMemory } from '../../src/nixl/host-memory.js';
import { MemType } from '../../src/nixl/memory-type.js';
import { allocateRegionMemory } from '../../src/os/region-memory.js';

const TARGET_BYTES = 10_000 * 16 * 1024;

export async function serveTarget(progress: string): Promise<void> {
  const agent = await Agent.create('target');
  await agent.createBackend('TCPX', { 'lane.progress': progress, 'session.local': 'tcp' });
  const { buffer } = allocateRegionMemory(TARGET_BYTES, 'normal');
  new Uint8Array(buffer).fill(1);
  await agent.registerMem({ memType: MemType.DRAM, descs: [describeMemory(buffer)] });
  const input = process.stdin.resume();
  process.stdout.write(`${Buffer.from(agent.getLocalMD()).toString('base64')}\n`);
  // Where callers drive the target moves only while it polls: mostly here, at times in the loop.
  while (!input.readableEnded) {
    const spins = progress === 'caller' ? 2000 : 1;
    for (let index = 0; index < spins; index++) agent.getNotifs();
    await new Promise((resolve) => setTimeout(resolve, progress === 'caller' ? 0 : 50));
  }
  await agent.close();
}
