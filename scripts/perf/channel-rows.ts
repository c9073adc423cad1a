// Several channels by hand on one NIC: more of them never cost, whatever the congestion control.

import { readFileSync } from 'node:fs';
import { ratesInTurn } from './in-turn.js';
import { atLeastInTurn, GBPS, notMeasured, type PerfGroup, type PerfRow } from './verdict.js';

const COUNTS = [1, 2, 4, 8];
const CONGESTIONS = ['cubic', 'bbr'];
const SHAPE = {
  'bench.sizeBytes': 64 * 1024 * 1024,
  'bench.verify': 'none',
  'bench.warmup': 40,
  'bench.warmupSeconds': 0,
  'bench.iterations': 30,
} as const;

export const channels: PerfGroup = {
  name: 'channels',
  async run(rounds) {
    const rows: PerfRow[] = [];
    const allowed = allowedCongestions();
    for (const congestion of CONGESTIONS) {
      if (!allowed.includes(congestion)) {
        rows.push(notMeasured(`2, 4, 8 channels, ${congestion}`, 'the kernel does not offer it'));
        continue;
      }
      const shapes = COUNTS.map((count) => {
        return { ...SHAPE, 'socket.congestion': congestion, 'flow.channels': count };
      });
      const rates = await ratesInTurn(shapes, rounds);
      for (const [index, count] of COUNTS.entries()) {
        if (index === 0) continue;
        const what = `${count} channels vs the best smaller count, ${congestion}`;
        const smaller = rates.slice(0, index);
        rows.push(atLeastInTurn(what, rates[index] ?? [], smaller, 0.95, GBPS));
      }
    }
    return rows;
  },
};

/** Root may choose whatever the kernel has; others what is allowed. */
function allowedCongestions(): string[] {
  const which = process.getuid?.() === 0 ? 'available' : 'allowed';
  const path = `/proc/sys/net/ipv4/tcp_${which}_congestion_control`;
  return readFileSync(path, 'utf8').trim().split(' ');
}
