// Host memory of a client as a device of the lanes: chunks are copied between its address space and
// staging memory of ours, by the kernel, at once. What the lanes promise of GPU memory then holds for
// it too: what is acknowledged has landed in the client.

import { TcpxError } from '../base/errors.js';
import { errnoName } from '../ffi/libc/errno.js';
import { type Mapping, mapMemory, renewPages, unmapMemory } from '../ffi/libc/mapping.js';
import { waitReadable } from '../ffi/libc/poll.js';
import { ProcessMoves } from '../ffi/libc/process-memory.js';
import {
  COPY_DONE,
  COPY_FAILED,
  COPY_PENDING,
  type CopyQueue,
  type StagingDevice,
  type StagingShape,
} from '../gpu/staging-device.js';

/** The process, and a descriptor that tells its end from a successor's beginning. */
export interface OtherProcess {
  readonly pid: number;
  readonly pidfd: number;
}

/** More than batches whose outcome nobody has asked for yet: those have a slot each. */
const OUTCOMES = 256;

class ProcessQueue implements CopyQueue {
  readonly isRenewable = true;
  /** A copy that fails costs its own chunks alone: the next may be of other memory. */
  isFailed = false;
  error: TcpxError | undefined;
  readonly #process: OtherProcess;
  readonly #direction: 'read' | 'write';
  readonly #staging: Mapping;
  readonly #slotBytes: number;
  readonly #moves = new ProcessMoves();
  readonly #outcomes = new Int8Array(OUTCOMES);
  /** Of the open batch: whether a part of it was moved already, and failed. */
  #hasFailed = false;
  #isOpen = false;
  #issued = 0;

  constructor(process: OtherProcess, direction: 'read' | 'write', shape: StagingShape) {
    this.#process = process;
    this.#direction = direction;
    this.#slotBytes = shape.slotBytes;
    this.#staging = mapMemory(shape.slotBytes * shape.slotCount);
  }

  get stagingAddr(): number {
    return this.#staging.addr;
  }

  begin(): number {
    return (this.#issued + 1) | 0;
  }

  add(deviceAddr: number, stagingOffset: number, bytes: number): void {
    if (this.#moves.isFull) this.#move();
    this.#moves.add(this.#staging.addr + stagingOffset, deviceAddr, bytes);
    this.#isOpen = true;
  }

  start(): boolean {
    if (!this.#isOpen) return false;
    this.#move();
    this.#issued = (this.#issued + 1) | 0;
    this.#outcomes[this.#issued & (OUTCOMES - 1)] = this.#hasFailed ? COPY_FAILED : COPY_DONE;
    this.#isOpen = false;
    this.#hasFailed = false;
    return true;
  }

  poll(batch: number): number {
    if (((batch - this.#issued) | 0) > 0) return COPY_PENDING;
    return this.#outcomes[batch & (OUTCOMES - 1)] ?? COPY_FAILED;
  }

  isIdle(): boolean {
    return true;
  }

  finish(): void {
    this.start();
  }

  renew(stagingOffset: number): boolean {
    try {
      renewPages({ addr: this.#staging.addr + stagingOffset, bytes: this.#slotBytes });
      return true;
    } catch {
      this.isFailed = true;
      return false;
    }
  }

  close(): void {
    this.finish();
    this.#moves.close();
    unmapMemory(this.#staging);
  }

  // A number of a process may be given to another one once it has ended: so first a look at that.
  #move(): void {
    const { pid, pidfd } = this.#process;
    const isThere = waitReadable([pidfd], 0) === 0;
    const missing = isThere ? this.#moves.move(pid, this.#direction) : -1;
    if (missing === 0) return;
    this.#hasFailed = true;
    const reason = missing < 0 ? errnoName(-missing) : `${missing} bytes are not mapped there`;
    this.error ??= new TcpxError(
      'ERR_CAP_CLIENT_MEMORY',
      `${this.#direction} memory of process ${pid}: ${isThere ? reason : 'it has ended'}`,
    );
  }
}

export class ProcessStaging implements StagingDevice {
  readonly out: ProcessQueue;
  readonly into: ProcessQueue;

  constructor(process: OtherProcess, shape: StagingShape) {
    this.out = new ProcessQueue(process, 'read', shape);
    this.into = new ProcessQueue(process, 'write', shape);
  }

  /** Host memory has no events. */
  pollEvent(): number {
    return COPY_FAILED;
  }

  close(): void {
    this.out.close();
    this.into.close();
  }
}
