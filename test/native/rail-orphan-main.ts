// A process for tests to kill: opens a pair of rails, moves a chunk, says so, and stays. With
// `early` it says so at once: its plugin processes have only just been started then.

import { moveChecked, openRailPair } from './rail-pair.js';

const plugin = JSON.parse(process.argv[2] ?? '{}') as Record<string, string>;
if (process.argv[3] === 'early') setImmediate(() => process.stdout.write('[]\n'));
const pair = await openRailPair({ plugin });
await moveChecked(pair);
const sets = [pair.sender.rails.set, pair.receiver.rails.set];
const pids = sets.flatMap((set) => set.pids());
process.stdout.write(`${JSON.stringify(pids)}\n`);
setInterval(() => undefined, 1000);
