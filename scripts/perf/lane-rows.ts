// Many lanes never cost: a transfer that is not worth them goes as fast as with one, for the same
// CPU; and READ gains by them as WRITE does.

import { laneCounts } from './default-rows.js';
import { ownBench } from './own-bench.js';
import {
  atLeastInTurn,
  atMostInTurn,
  CPU_PER_GB,
  GBPS,
  type PerfGroup,
  type PerfRow,
} from './verdict.js';

const TIMED = ['--seconds', '1', '--warmup-seconds', '1', '--verify', 'none'];

async function measure(op: 'write' | 'read', size: string, count: number) {
  const lanes = ['--lanes', String(count), '--channels', String(count)];
  const result = await ownBench(['--op', op, '--size', size, ...lanes, ...TIMED]);
  const { initiator, target } = result.cpuSecondsPerGB;
  return { rate: result.bandwidthGBps.mean * GBPS.scale, cpu: initiator + target };
}

export const lanes: PerfGroup = {
  name: 'lanes',
  async run(rounds) {
    const tried = laneCounts();
    const small = tried.map(() => ({ rates: [] as number[], cpu: [] as number[] }));
    const large = { write: [] as number[], read: [] as number[] };
    const most = Math.max(...tried);
    for (let round = 0; round < rounds; round++) {
      for (const [index, count] of tried.entries()) {
        const { rate, cpu } = await measure('write', '1MiB', count);
        small[index]?.rates.push(rate);
        small[index]?.cpu.push(cpu);
      }
      for (const op of ['write', 'read'] as const) {
        large[op].push((await measure(op, '64MiB', most)).rate);
      }
    }
    const [one, ...more] = small;
    const rows = more.flatMap(({ rates, cpu }, index): PerfRow[] => {
      const what = `WRITE 1 MiB, ${tried[index + 1]} lanes by hand vs one`;
      return [
        atLeastInTurn(what, rates, [one?.rates ?? []], 0.95, GBPS),
        atMostInTurn(`CPU per GB, both ends, ${what}`, cpu, [one?.cpu ?? []], 1.15, CPU_PER_GB),
      ];
    });
    const scaled = `READ 64 MiB, ${most} lanes by hand, vs WRITE`;
    return [...rows, atLeastInTurn(scaled, large.read, [large.write], 0.9, GBPS)];
  },
};
