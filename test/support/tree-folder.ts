// Puts a made-up tree on disk, where a test needs real files (writes, modes, a child process).

import {
  accessSync,
  chmodSync,
  constants,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { FileTree } from '../../src/host/read/file-tree.js';

/** Thousands of small files: in memory they take a tenth of a second, on a disk several. */
const IN_MEMORY = '/dev/shm';

function temporaryFolder(): string {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    return IN_MEMORY;
  } catch {
    return tmpdir();
  }
}

/** Makes a temporary folder with the tree in it; the caller removes it with `removeTreeFolder`. */
export function writeTreeFolder(tree: FileTree): string {
  const root = mkdtempSync(join(temporaryFolder(), 'tcpx-host-'));
  for (const [path, entry] of tree) {
    const place = join(root, path);
    if (entry.kind === 'folder') {
      mkdirSync(place, { recursive: true });
      continue;
    }
    mkdirSync(dirname(place), { recursive: true });
    if (entry.kind === 'link') symlinkSync(entry.target, place);
    else {
      writeFileSync(place, entry.text);
      if (entry.mode !== undefined) chmodSync(place, entry.mode);
    }
  }
  return root;
}

export function removeTreeFolder(root: string): void {
  rmSync(root, { recursive: true, force: true });
}
