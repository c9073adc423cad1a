// Who holds how many data sockets of a NIC, over all processes of this host: a small file per NIC
// that is changed under a lock. Holders that have died count no more.

import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { toTcpxError } from '../../base/errors.js';
import { makeFolder } from '../../base/make-folder.js';
import { lockFile } from '../../ffi/libc/file-descriptor.js';
import { checkCall } from '../../ffi/libc/library.js';
import {
  claimSockets,
  formatHolders,
  parseHolders,
  releaseSockets,
  type SocketHolder,
} from '../../flow/socket-budget.js';

export interface SocketClaim {
  release(): void;
}

/** Throws ERR_CAP_SOCKET_BUDGET, naming the holders, when the NIC has no room for so many. */
export function takeSockets(
  folder: string,
  nic: string,
  sockets: number,
  budget: number,
): SocketClaim {
  if (budget === Number.POSITIVE_INFINITY) return { release: () => undefined };
  const claim = { pid: process.pid, startedAt: processStart(process.pid) ?? '0', sockets };
  changeHolders(folder, nic, (holders) => claimSockets(nic, holders, claim, budget));
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      changeHolders(folder, nic, (holders) => releaseSockets(holders, claim));
    },
  };
}

function changeHolders(
  folder: string,
  nic: string,
  change: (holders: SocketHolder[]) => SocketHolder[],
): void {
  const fd = openRegistry(folder, nic);
  try {
    checkCall('flock', `sockets of ${nic}`, lockFile(fd));
    const living = parseHolders(readFileSync(fd, 'utf8')).filter(isLiving);
    const text = formatHolders(change(living));
    ftruncateSync(fd, 0);
    writeSync(fd, text, 0);
  } finally {
    closeSync(fd);
  }
}

function openRegistry(folder: string, nic: string): number {
  try {
    // Processes of several users share a NIC; the sticky bit keeps them from removing files.
    makeFolder(folder, 0o1777);
    return openSync(join(folder, `${nic.replaceAll('/', '_')}.sockets`), 'a+', 0o666);
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `tcpx.stateDir ${folder}`);
  }
}

function isLiving(holder: SocketHolder): boolean {
  return processStart(holder.pid) === holder.startedAt;
}

/** Start time in clock ticks since boot, undefined for no such process. */
function processStart(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold spaces: fields count from behind it, 22 is the start.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
