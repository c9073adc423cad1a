// How long the first thread of a process has been ready to run without a core.

import { readFileSync } from 'node:fs';

/** Since the process began; unknown where the kernel does not tell, or the process is gone. */
export function coreWaitMs(pid: number): number | undefined {
  try {
    const [, waitedNs] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ');
    return waitedNs === undefined ? undefined : Number(waitedNs) / 1e6;
  } catch {
    return undefined;
  }
}
