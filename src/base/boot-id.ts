// Which boot of which host this is: another one has forgotten what was applied, another host has
// another.

import { readFileSync } from 'node:fs';

const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';

/** A host's files: this one's, or those that were captured on another. */
interface BootFiles {
  /** Undefined where there is none that can be read. */
  read(path: string): string | undefined;
}

const OWN_FILES: BootFiles = {
  read: (path) => {
    try {
      return readFileSync(path, 'latin1');
    } catch {
      return undefined;
    }
  },
};

/** Undefined where it is not known. */
export function readBootId(files: BootFiles = OWN_FILES): string | undefined {
  const text = files.read(BOOT_ID_PATH)?.trim();
  return text === '' ? undefined : text;
}
