// Memory of another process, read and written through the kernel (process_vm_readv, …_writev). The
// kernel demands what it demands of a debugger: the same user, or CAP_SYS_PTRACE.
//
//   table, low memory:  │ local iovecs × 1024 │ remote iovecs × 1024 │

import { EFAULT } from './errno.js';
import { addressOf, bindFunction, resultOrErrno } from './library.js';
import { mapMemory, unmapMemory, viewMapping } from './mapping.js';
import { IOV_BYTES, IOV_ENTRIES_MAX } from './message.js';

const TWO_32 = 2 ** 32;
const SIDE_BYTES = IOV_ENTRIES_MAX * IOV_BYTES;
const SIDE_WORDS = SIDE_BYTES / 4;

type MoveCall = (
  pid: number,
  local: number,
  localCount: number,
  remote: number,
  remoteCount: number,
  flags: number,
) => number;
const PARAMETERS =
  '(int pid, uintptr_t local, unsigned long n, uintptr_t remote, unsigned long m, unsigned long f)';
const readvC = bindFunction<MoveCall>(`int64_t process_vm_readv${PARAMETERS}`);
const writevC = bindFunction<MoveCall>(`int64_t process_vm_writev${PARAMETERS}`);

/** Pairs of ranges, here and there, to be moved in one call. */
export class ProcessMoves {
  readonly #addr: number;
  readonly #words: Uint32Array;
  #count = 0;
  #bytes = 0;

  constructor() {
    const mapping = mapMemory(2 * SIDE_BYTES, { isLow: true });
    this.#addr = mapping.addr;
    this.#words = new Uint32Array(viewMapping(mapping));
  }

  get isFull(): boolean {
    return this.#count === IOV_ENTRIES_MAX;
  }

  add(localAddr: number, remoteAddr: number, bytes: number): void {
    const at = this.#count * (IOV_BYTES / 4);
    this.#write(at, localAddr, bytes);
    this.#write(at + SIDE_WORDS, remoteAddr, bytes);
    this.#count++;
    this.#bytes += bytes;
  }

  #write(at: number, addr: number, bytes: number): void {
    this.#words[at] = addr;
    this.#words[at + 1] = addr / TWO_32;
    this.#words[at + 2] = bytes;
    this.#words[at + 3] = bytes / TWO_32;
  }

  /** Moves all and forgets them: bytes that are missing (0: all is there), or −errno. */
  move(pid: number, direction: 'read' | 'write'): number {
    const call = direction === 'read' ? readvC : writevC;
    const count = this.#count;
    const moved = resultOrErrno(call(pid, this.#addr, count, this.#addr + SIDE_BYTES, count, 0));
    const missing = moved < 0 ? moved : this.#bytes - moved;
    this.drop();
    return missing;
  }

  drop(): void {
    this.#count = 0;
    this.#bytes = 0;
  }

  /** It must not be used after this. */
  close(): void {
    unmapMemory({ addr: this.#addr, bytes: 2 * SIDE_BYTES });
  }
}

/** A copy of so many bytes of the process, or −errno. */
export function readProcess(pid: number, addr: number, bytes: number): Uint8Array | number {
  const copy = Buffer.alloc(bytes);
  const moves = new ProcessMoves();
  moves.add(addressOf(copy), addr, bytes);
  const missing = moves.move(pid, 'read');
  moves.close();
  if (missing === 0) return copy;
  return missing < 0 ? missing : -EFAULT;
}
