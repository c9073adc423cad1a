// Whether the kernel promises no more memory than there is. Then a page of a file that was not
// reserved may be refused when it is touched: by a signal, which ends the process.

import { readFileSync } from 'node:fs';

const FORBIDDEN = '2';

export function isOvercommitForbidden(path = '/proc/sys/vm/overcommit_memory'): boolean {
  try {
    return readFileSync(path, 'latin1').trim() === FORBIDDEN;
  } catch {
    // Without /proc nobody knows: reserved is safe.
    return true;
  }
}
