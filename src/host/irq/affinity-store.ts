// The one place that writes interrupt affinity: /proc/irq/N/smp_affinity_list below a root folder.
// Files are opened without O_CREAT, so that a vanished interrupt is an error and never a new file.

import { closeSync, constants, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { affinityPath } from './plan.js';

export interface AffinityStore {
  /** Requested CPUs as a list. Throws an error with `code` as the kernel gave it. */
  read(irq: number): string;
  write(irq: number, list: string): void;
  /** Opens for writing and writes nothing. */
  probe(irq: number): void;
}

export function affinityFolder(root: string): AffinityStore {
  const pathOf = (irq: number) => join(root, affinityPath(irq));
  return {
    read: (irq) => readFileSync(pathOf(irq), 'utf8').trim(),
    probe: (irq) => closeSync(openSync(pathOf(irq), constants.O_WRONLY)),
    write(irq, list) {
      const fd = openSync(pathOf(irq), constants.O_WRONLY | constants.O_TRUNC);
      try {
        writeSync(fd, `${list}\n`);
      } finally {
        closeSync(fd);
      }
    },
  };
}

const MEANINGS: Readonly<Record<string, string>> = {
  EIO: 'the kernel manages this interrupt or cannot move it',
  EPERM: 'the kernel manages this interrupt or cannot move it',
  EACCES: 'writing needs root',
  EROFS: '/proc/irq is mounted read-only, as in most containers',
  ENOENT: 'the interrupt is gone',
  EINVAL: 'the kernel takes none of these CPUs (all offline, or an empty set)',
  ERANGE: 'a CPU number above the possible ones',
  EOVERFLOW: 'a CPU number above the possible ones',
};

export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : 'unknown error';
}

export function explainErrno(errno: string): string {
  return MEANINGS[errno] ?? 'the kernel refused';
}
