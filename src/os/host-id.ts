// Which host this process runs on, for comparing and nothing else: containers of one host are
// equal, two virtual machines are not.

import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

const BOOT_ID_PATH = '/proc/sys/kernel/random/boot_id';
const HOST_ID_BYTES = 16;

let known: Uint8Array | undefined;

/** Hashed: peers see it before they have proved anything. Unreadable: like no other. */
export function hostId(): Uint8Array {
  known ??= readHostId();
  return known;
}

function readHostId(): Uint8Array {
  try {
    const text = readFileSync(BOOT_ID_PATH, 'latin1').trim();
    const digest = createHash('sha256').update(`nixl-tcpx host ${text}`).digest();
    return Uint8Array.from(digest.subarray(0, HOST_ID_BYTES));
  } catch {
    return Uint8Array.from(randomBytes(HOST_ID_BYTES));
  }
}
