// Makes a folder and those above it. Not by Node's `recursive`: where the kernel lets nobody make
// folders, as below /proc, that call never returns (seen with Node 20).

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/** `mode` is that of all that are made now. */
export function makeFolder(path: string, mode = 0o777): void {
  const folder = resolve(path);
  const parent = dirname(folder);
  if (parent !== folder && !existsSync(parent)) makeFolder(parent, mode);
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (!isFolder(folder)) throw error;
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
