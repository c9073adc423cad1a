// A process for tests to kill: opens a pair of rails, moves a chunk, says so, and stays.

import { moveChecked, openRailPair } from './rail-pair.js';

const plugin = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>;
const pair = await openRailPair({ plugin });
await moveChecked(pair);
const sets = [pair.sender.rails.set, pair.receiver.rails.set];
const pids = sets.flatMap((set) => set.pids());
process.stdout.write(`${JSON.stringify(pids)}\n`);
setInterval(() => undefined, 1000);
