// Which boot this is: journals of an earlier one have nothing left to undo.

import { readLine } from '../read/field-text.js';
import type { HostFiles } from '../read/host-files.js';

export function readBootId(files: HostFiles): string | undefined {
  return readLine(files, '/proc/sys/kernel/random/boot_id');
}
