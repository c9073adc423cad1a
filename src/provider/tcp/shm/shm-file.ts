// The shared memory of one channel, as a file in /dev/shm that lives only until both ends have
// mapped it. Its name comes from the nonce of the ATTACH, which is fresh for every channel; the
// nonce inside tells the server that it has the file that was meant, and the server's answer inside
// tells the client that both map the same memory: that is the proof of being on one host.

import { closeSync, constants, fstatSync, openSync, unlinkSync } from 'node:fs';
import { assert, at } from '../../../base/assert.js';
import { TcpxError } from '../../../base/errors.js';
import { mapMemory, reserveFile, unmapMemory } from '../../../ffi/libc/mapping.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import {
  ANSWER_AT,
  HEADER_BYTES,
  NONCE_AT,
  RING_BYTES,
  SHM_BYTES,
  SHM_MAGIC,
  SHM_VERSION,
  type ShmSide,
} from './shm-layout.js';

const DIRECTORY = '/dev/shm';
const OWNER_ONLY = 0o600;
const TWO_32 = 2 ** 32;

/** A mapping; whoever holds it last unmaps it, and no view of it may be used afterwards. */
export class ShmLink {
  readonly addr: number;
  readonly side: ShmSide;

  constructor(addr: number, side: ShmSide) {
    this.addr = addr;
    this.side = side;
  }

  /** As a thread's command carries it: the address in two words, and the side. */
  toWords(): [number, number, number] {
    return [this.addr | 0, Math.floor(this.addr / TWO_32), this.side === 'client' ? 1 : 2];
  }

  /** Undefined where a command carries none. */
  static fromWords(words: Int32Array): ShmLink | undefined {
    const side = at(words, 2);
    if (side === 0) return undefined;
    assert(side === 1 || side === 2, 'a link has one of two sides');
    const addr = at(words, 1) * TWO_32 + (at(words, 0) >>> 0);
    return new ShmLink(addr, side === 1 ? 'client' : 'server');
  }

  unmap(): void {
    unmapMemory({ addr: this.addr, bytes: SHM_BYTES });
  }
}

export function shmPath(nonce: Uint8Array): string {
  return `${DIRECTORY}/tcpx-${Buffer.from(nonce.subarray(0, 16)).toString('hex')}`;
}

/** Client: makes the file. It must be unlinked once the server has answered, or has not. */
export function createShm(nonce: Uint8Array): ShmLink {
  const path = shmPath(nonce);
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_RDWR } = constants;
  const fd = attempt(`create ${path}`, () =>
    openSync(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY),
  );
  try {
    reserveFile(fd, path, SHM_BYTES);
    const { addr } = mapMemory(SHM_BYTES, { fd, isPopulated: true });
    const header = openFixedMemory(addr, HEADER_BYTES);
    header.uint32.set([SHM_MAGIC, SHM_VERSION, RING_BYTES]);
    header.uint8.set(nonce, NONCE_AT);
    return new ShmLink(addr, 'client');
  } catch (error) {
    unlinkShm(nonce);
    throw new TcpxError('ERR_CAP_SHARED_MEMORY', `${path}: ${SHM_BYTES} bytes cannot be had`, {
      cause: error,
    });
  } finally {
    closeSync(fd);
  }
}

/** Server: maps the file that the client made for this nonce, removes its name and answers. */
export function openShm(nonce: Uint8Array, answer: Uint8Array): ShmLink {
  const path = shmPath(nonce);
  const { O_NOFOLLOW, O_NONBLOCK, O_RDWR } = constants;
  const fd = attempt(`open ${path} of the peer, which must be on this host`, () =>
    openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK),
  );
  try {
    checkFile(path, fd);
    const { addr } = mapMemory(SHM_BYTES, { fd, isPopulated: true });
    const link = new ShmLink(addr, 'server');
    try {
      checkHeader(path, addr, nonce);
    } catch (error) {
      link.unmap();
      throw error;
    }
    openFixedMemory(addr, HEADER_BYTES).uint8.set(answer, ANSWER_AT);
    unlinkShm(nonce);
    return link;
  } finally {
    closeSync(fd);
  }
}

/** Client: whether the server's answer stands in the same memory. */
export function isAnswered(link: ShmLink, answer: Uint8Array): boolean {
  const { uint8 } = openFixedMemory(link.addr, HEADER_BYTES);
  return Buffer.from(answer).equals(uint8.subarray(ANSWER_AT, ANSWER_AT + answer.length));
}

/** Removes the name, if it is still there. */
export function unlinkShm(nonce: Uint8Array): void {
  try {
    unlinkSync(shmPath(nonce));
  } catch {
    // The server was faster.
  }
}

/** Only memory that nobody but this user can have: then the other end can do no more than it could
 *  without (shortening the file, for one, would end this process). */
function checkFile(path: string, fd: number): void {
  const stat = fstatSync(fd);
  const isPrivate = stat.uid === process.geteuid?.() && (stat.mode & 0o777) === OWNER_ONLY;
  if (stat.isFile() && isPrivate && stat.size === SHM_BYTES && stat.nlink <= 1) return;
  throw new TcpxError(
    'ERR_CAP_SHARED_MEMORY',
    `${path}: not a file of ${SHM_BYTES} bytes that belongs to this user alone`,
  );
}

function checkHeader(path: string, addr: number, nonce: Uint8Array): void {
  const { uint8, uint32 } = openFixedMemory(addr, HEADER_BYTES);
  const [magic, version, ringBytes] = uint32;
  const isOurs = magic === SHM_MAGIC && version === SHM_VERSION && ringBytes === RING_BYTES;
  if (isOurs && Buffer.from(nonce).equals(uint8.subarray(NONCE_AT, NONCE_AT + nonce.length))) {
    return;
  }
  throw new TcpxError('ERR_CAP_SHARED_MEMORY', `${path}: not the memory that the peer speaks of`);
}

function attempt(what: string, call: () => number): number {
  try {
    return call();
  } catch (error) {
    const { code } = error as { code?: string };
    throw new TcpxError('ERR_CAP_SHARED_MEMORY', `${what}: ${code ?? String(error)}`, {
      facts: { reason: code },
      cause: error,
    });
  }
}
