// Files in memory whose length is settled: a file that another process can shorten must not be
// mapped, because a touch behind its end is a signal that ends this process.

import { fstatSync, statfsSync } from 'node:fs';
import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';

const MFD_CLOEXEC = 1;
const MFD_ALLOW_SEALING = 2;
const F_ADD_SEALS = 1033;
const F_GET_SEALS = 1034;
const F_SEAL_SEAL = 1;
const F_SEAL_SHRINK = 2;
const F_SEAL_GROW = 4;
const TMPFS_MAGIC = 0x01021994;

const memfdCreateC = bindFunction<(name: string, flags: number) => number>(
  'int memfd_create(const char *name, unsigned int flags)',
);
const ftruncateC = bindFunction<(fd: number, bytes: number) => number>(
  'int ftruncate(int fd, int64_t bytes)',
);
const fcntlC = bindFunction<(fd: number, command: number, value: number) => number>(
  'int fcntl(int fd, int command, int value)',
);

/** A file of this length for ever, whoever gets its descriptor. */
export function createSealedFile(name: string, bytes: number): number {
  const flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const fd = checkCall('memfd_create', name, resultOrErrno(memfdCreateC(name, flags)));
  try {
    checkCall('ftruncate', name, resultOrErrno(ftruncateC(fd, bytes)));
    const seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    checkCall('fcntl F_ADD_SEALS', name, resultOrErrno(fcntlC(fd, F_ADD_SEALS, seals)));
    return fd;
  } catch (error) {
    closeFd(fd);
    throw error;
  }
}

/**
 * Length of a file that somebody has passed, where no touch can fail in it: it never becomes
 * shorter, and its pages are ordinary ones. Otherwise why not.
 */
export function settledBytes(fd: number): number | string {
  // Before the length: what is sealed later may have become shorter in between.
  if (!cannotShrink(fd)) return 'the file is not sealed against shrinking (F_SEAL_SHRINK)';
  // They can be sealed as well, and run out.
  const isOrdinary = statfsSync(`/proc/self/fd/${fd}`).type === TMPFS_MAGIC;
  return isOrdinary ? fstatSync(fd).size : 'the file is of huge pages, which may run out';
}

/** False where it cannot be sealed at all. */
function cannotShrink(fd: number): boolean {
  const seals = fcntlC(fd, F_GET_SEALS, 0);
  return seals >= 0 && (seals & F_SEAL_SHRINK) !== 0;
}
