// Writes RPS masks, which say on which CPUs the kernel handles what an interface received: the
// stand-in for interrupts where an interface has none (loopback, veth). Files are opened without
// O_CREAT, so that a vanished queue is an error and never a new file.

import { closeSync, constants, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from './affinity-store.js';
import { explainQueueErrno } from './xps-store.js';

export interface RpsEntry {
  readonly path: string;
  /** As the kernel prints it. */
  readonly mask: string;
}

/** A mask for each receive queue; none where the interface, or its queues, are not there. */
export function readRps(root: string, nic: string): readonly RpsEntry[] {
  const folder = join(root, 'sys/class/net', nic, 'queues');
  return queuesOf(folder).flatMap((queue) => {
    const path = join(folder, queue, 'rps_cpus');
    try {
      return [{ path, mask: readFileSync(path, 'utf8').trim() }];
    } catch {
      return [];
    }
  });
}

function queuesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder).filter((name) => /^rx-\d+$/.test(name));
  } catch {
    return [];
  }
}

/** Why they cannot be written; undefined where they can. Writes what is there already. */
export function rpsProblem(entries: readonly RpsEntry[]): string | undefined {
  if (entries.length === 0) return 'no receive queue with rps_cpus is there';
  try {
    for (const entry of entries) writeRps(entry);
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    return `${entries[0]?.path ?? ''}: ${errno}, ${explainQueueErrno(errno)}`;
  }
}

export function writeRps({ path, mask }: RpsEntry): void {
  const fd = openSync(path, constants.O_WRONLY | constants.O_TRUNC);
  try {
    writeSync(fd, `${mask}\n`);
  } finally {
    closeSync(fd);
  }
}
