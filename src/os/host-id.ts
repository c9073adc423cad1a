// Which host this process runs on, for comparing and nothing else: containers of one host are
// equal, two virtual machines are not.

import { createHash, randomBytes } from 'node:crypto';
import { readBootId } from '../base/boot-id.js';

const HOST_ID_BYTES = 16;

let known: Uint8Array | undefined;

/** Hashed: peers see it before they have proved anything. Unreadable: like no other. */
export function hostId(): Uint8Array {
  known ??= readHostId();
  return known;
}

function readHostId(): Uint8Array {
  const bootId = readBootId();
  if (bootId === undefined) return Uint8Array.from(randomBytes(HOST_ID_BYTES));
  const digest = createHash('sha256').update(`nixl-tcpx host ${bootId}`).digest();
  return Uint8Array.from(digest.subarray(0, HOST_ID_BYTES));
}
