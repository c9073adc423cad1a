// How two processes of one host come to share the memory of a channel. The client opens a mailbox
// whose name is the nonce of its ATTACH; the server, once the client has proved itself, makes a
// file in memory whose length is sealed, and mails the descriptor behind its answer. The client
// looks into its mailbox when it has heard the same answer: that mail is of the peer that answered,
// and of nobody else. An empty mailbox means TCP: both ends know the same.
//
//   client                                    server
//   bind "tcpx-NONCE"
//   ATTACH (nonce, proof)            ─ tcp →   checks the proof
//                                    ← unix ─  answer, file; mapped, or no such mailbox
//                                    ← tcp ─   ATTACHED (answer)
//   mapped: proof into the header    ─ shm →   the right one: the rings are used
//
// The name can be seen, and had by another once the client has given up: who got the file is known
// by the proof in it alone. Nobody can know the answer before it is mailed, so that the kernel
// keeps mail of others out.

import { EAGAIN, ECONNREFUSED, errnoName } from '../../../ffi/libc/errno.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { mapMemory, reserveFile } from '../../../ffi/libc/mapping.js';
import { createSealedFile, settledBytes } from '../../../ffi/libc/memory-file.js';
import { bindMailbox, mailUnix, receiveUnix } from '../../../ffi/libc/unix-socket.js';
import { openFixedMemory } from '../../../os/fixed-memory.js';
import { isOvercommitForbidden } from '../../../os/overcommit.js';
import {
  HEADER_BYTES,
  RING_BYTES,
  SHM_BYTES,
  SHM_MAGIC,
  SHM_VERSION,
  type ShmSide,
} from './shm-layout.js';
import { proofWords, ShmLink } from './shm-link.js';

const FILE_NAME = 'tcpx-channel';
/** Where the kernel has no filter others may have mailed too: it keeps no more than some ten. */
const MESSAGES_MAX = 64;

export function mailboxName(nonce: Uint8Array): string {
  return `tcpx-${Buffer.from(nonce.subarray(0, 16)).toString('hex')}`;
}

/** The client's. Its name is known only within this network namespace, and ends with it. */
export class ShmMailbox {
  readonly #fd: number;
  readonly #answer: Uint8Array;

  /** Without a place for it nothing ever comes. */
  constructor(nonce: Uint8Array, answer: Uint8Array) {
    this.#answer = answer;
    this.#fd = bindMailbox(mailboxName(nonce), answer);
  }

  /** The memory that whoever knew the answer has sent; undefined: none. */
  take(proof: Uint8Array): ShmLink | undefined {
    if (this.#fd < 0) return undefined;
    for (let count = 0; count < MESSAGES_MAX; count++) {
      const message = receiveUnix(this.#fd);
      if (typeof message === 'number') return undefined;
      const isAnswer = Buffer.from(this.#answer).equals(message.bytes);
      const link = firstLink(isAnswer, message.descriptors, proof);
      if (link !== undefined) return link;
    }
    return undefined;
  }

  close(): void {
    if (this.#fd >= 0) closeFd(this.#fd);
  }
}

function firstLink(
  isAnswer: boolean,
  descriptors: readonly number[],
  proof: Uint8Array,
): ShmLink | undefined {
  let found: ShmLink | undefined;
  for (const fd of descriptors) {
    if (isAnswer && found === undefined) found = linkIfSafe(fd, proof);
    closeFd(fd);
  }
  return found;
}

/** The peer is not trusted with our life: a file that cannot be looked at or mapped is none. */
function linkIfSafe(fd: number, proof: Uint8Array): ShmLink | undefined {
  try {
    return settledBytes(fd) === SHM_BYTES ? linkOf(fd, proof) : undefined;
  } catch {
    return undefined;
  }
}

function linkOf(fd: number, proof: Uint8Array): ShmLink | undefined {
  const link = mapFile(fd, 'client', proof);
  const [magic, version, ringBytes] = openFixedMemory(link.addr, HEADER_BYTES).uint32;
  if (magic === SHM_MAGIC && version === SHM_VERSION && ringBytes === RING_BYTES) return link;
  link.unmap();
  return undefined;
}

/**
 * The server's half: memory that the client will find, or why there is none. It is used once the
 * client's proof stands in it.
 */
export function shareMemory(
  nonce: Uint8Array,
  answer: Uint8Array,
  proof: Uint8Array,
): ShmLink | string {
  let fd: number;
  try {
    fd = createSealedFile(FILE_NAME, SHM_BYTES);
  } catch (error) {
    return `no memory to share: ${String(error)}`;
  }
  try {
    if (isOvercommitForbidden()) reserveFile(fd, FILE_NAME, SHM_BYTES);
    const link = mapFile(fd, 'server', proof);
    const { uint32 } = openFixedMemory(link.addr, HEADER_BYTES);
    uint32.set([SHM_MAGIC, SHM_VERSION, RING_BYTES]);
    const sent = mailUnix(mailboxName(nonce), answer, [fd]);
    if (sent > 0) return link;
    link.unmap();
    return refusalText(-sent);
  } catch (error) {
    return `no memory to share: ${String(error)}`;
  } finally {
    closeFd(fd);
  }
}

function refusalText(errno: number): string {
  if (errno === ECONNREFUSED) {
    return 'the client waits for shared memory in another network namespace, or not at all';
  }
  if (errno === EAGAIN) return 'the mailbox of the client is full';
  return `the client was not reached by a Unix socket: ${errnoName(errno)}`;
}

function mapFile(fd: number, side: ShmSide, proof: Uint8Array): ShmLink {
  return new ShmLink(mapMemory(SHM_BYTES, { fd, isLow: true }).addr, side, proofWords(proof));
}
