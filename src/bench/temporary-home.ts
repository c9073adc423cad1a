// Where results of users without a home lie. The name can be guessed and everybody may make it
// first, so it is used only where it is this user's, and this user's alone.

import { lstatSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TcpxError, toTcpxError } from '../base/errors.js';
import { makeFolder } from '../base/make-folder.js';

export function temporaryHome(): string {
  return join(tmpdir(), `nixl-tcpx-${process.getuid?.() ?? 'user'}`);
}

/** Of a folder that lies in it; one that is not there is nobody's. */
export function checkTemporaryHome(folder: string): void {
  const home = temporaryHome();
  if (!folder.startsWith(`${home}/`)) return;
  const found = lstatSync(home, { throwIfNoEntry: false });
  if (found === undefined) return;
  const isOwn = found.isDirectory() && found.uid === process.getuid?.();
  if (isOwn && (found.mode & 0o077) === 0) return;
  const reason = isOwn ? 'others may use it (chmod 700)' : 'it is no folder of this user';
  throw new TcpxError('ERR_CAP_PERMISSION', `store ${home}: ${reason}; --store DIR is another`);
}

export function makeTemporaryHome(folder: string): void {
  const home = temporaryHome();
  if (!folder.startsWith(`${home}/`)) return;
  checkTemporaryHome(folder);
  try {
    // One that is there is left as it is.
    makeFolder(home, 0o700);
  } catch (error) {
    throw toTcpxError(error, 'ERR_SYS_CALL', `make ${home}`);
  }
  // Somebody may have been quicker.
  checkTemporaryHome(folder);
}
