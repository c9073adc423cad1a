// The folder of a service: a lock that one service holds for its life, and the socket beside it. A
// socket without a lock is left over from a service that was killed, and is taken away.

import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Environment } from '../base/config.js';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { makeFolder } from '../base/make-folder.js';
import { tryLockFile } from '../ffi/libc/file-descriptor.js';

const WRITABLE_BY_OTHERS = 0o022;

/** Where a service is looked for; the library has the same rule. */
export function runtimeFolder(wanted: string, environment: Environment, uid: number): string {
  if (wanted !== '') return wanted;
  const runtime = environment['XDG_RUNTIME_DIR'] ?? '';
  return runtime === '' ? `/tmp/nixl-tcpx-${uid}` : join(runtime, 'nixl-tcpx');
}

export function socketPathOf(folder: string): string {
  return join(folder, 'service.sock');
}

export interface ClaimedFolder {
  readonly socketPath: string;
  /** The socket goes first: nobody shall find it and no service behind. */
  release(): void;
}

function openLock(folder: string, lockPath: string, uid: number): number {
  try {
    makeFolder(folder, 0o700);
    checkOwner(folder, uid);
    return openSync(lockPath, 'a+', 0o600);
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `the folder of the service, ${folder}`);
  }
}

/** Throws ERR_SYS_ADDRESS_IN_USE where another service lives there. */
export function claimFolder(folder: string, pid: number, uid: number): ClaimedFolder {
  const lockPath = join(folder, 'service.lock');
  const fd = openLock(folder, lockPath, uid);
  if (tryLockFile(fd) < 0) {
    closeSync(fd);
    const holder = readFileSync(lockPath, 'utf8').trim() || 'unknown';
    throw new TcpxError(
      'ERR_SYS_ADDRESS_IN_USE',
      `${folder}: a service runs there already, process ${holder}`,
      { facts: { folder, holder } },
    );
  }
  ftruncateSync(fd);
  writeSync(fd, `${pid}\n`);
  const socketPath = socketPathOf(folder);
  rmSync(socketPath, { force: true });
  const release = (): void => {
    rmSync(socketPath, { force: true });
    closeSync(fd);
  };
  return { socketPath, release };
}

// In /tmp anybody could have made the folder first, and would get what clients say.
function checkOwner(folder: string, uid: number): void {
  const facts = statSync(folder);
  if (facts.uid === uid && (facts.mode & WRITABLE_BY_OTHERS) === 0) return;
  throw new TcpxError(
    'ERR_CAP_PERMISSION',
    `${folder}: belongs to user ${facts.uid} with mode ${(facts.mode & 0o777).toString(8)}; ` +
      `it must be user ${uid}'s and writable by nobody else`,
  );
}
