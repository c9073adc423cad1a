// Loaded into another program with `--import`: at SIGUSR2 it collects its garbage and says on
// standard error what is left, so that what a program keeps can be told from what it has dropped.

import { writeSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread } from 'node:worker_threads';

if (isMainThread) {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  process.on('SIGUSR2', () => {
    collect();
    const { heapUsed, external } = process.memoryUsage();
    writeSync(2, `kept ${heapUsed + external}\n`);
  });
}
