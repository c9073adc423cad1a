// Host memory of a client as a device of the lanes: chunks are copied between its address space and
// staging memory of ours, by the kernel, at once. What the lanes promise of GPU memory then holds
// for it too: what is acknowledged has landed in the client.

import { assert } from '../base/assert.js';
import { systemClock } from '../base/clock.js';
import { ESRCH } from '../ffi/libc/errno.js';
import { type Mapping, mapMemory, unmapMemory } from '../ffi/libc/mapping.js';
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

/** Of a batch whose process has ended: its session follows, and tells the peer what happened. */
const COPY_ORPHANED = 2;

/** From the first page that cannot be copied to the end of the process; its own lane waits. */
const ENDING_MS_MAX = 200;
const WAIT_AGAIN_MS = 1000;

/**
 * Outcomes that are kept. A batch is asked for once the chunks before it on its channel are done,
 * which other channels do not wait for: so more than those make in that time.
 */
const OUTCOMES = 65_536;

class ProcessQueue implements CopyQueue {
  /**
   * A slot that is sent by copy is free at once, so the next chunk goes through the same one while
   * it lies in the core's cache: by reference the copies of 1 MiB took twice as long, and a lane
   * moved 2.8 GB/s of it where it moves 3.5 so (16 cores).
   */
  readonly isRenewable = false;
  readonly isPrompt = true;
  lastUs = 0;
  /** A copy that fails costs its own chunks alone: the next may be of other memory. */
  readonly isFailed = false;
  readonly error = undefined;
  readonly #process: OtherProcess;
  readonly #direction: 'read' | 'write';
  readonly #staging: Mapping;
  readonly #moves = new ProcessMoves();
  readonly #outcomes = new Int8Array(OUTCOMES);
  /** What the open batch has come to so far. */
  #outcome = COPY_DONE;
  #isOpen = false;
  #noWaitBeforeMs = 0;
  #issued = 0;

  constructor(process: OtherProcess, direction: 'read' | 'write', shape: StagingShape) {
    this.#process = process;
    this.#direction = direction;
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
    const startedUs = systemClock.nowUs();
    this.#move();
    this.lastUs = systemClock.nowUs() - startedUs;
    this.#issued = (this.#issued + 1) | 0;
    this.#outcomes[this.#issued & (OUTCOMES - 1)] = this.#outcome;
    this.#isOpen = false;
    this.#outcome = COPY_DONE;
    return true;
  }

  poll(batch: number): number {
    const age = (this.#issued - batch) | 0;
    if (age < 0) return COPY_PENDING;
    assert(age < OUTCOMES, 'an outcome is asked for while it is kept');
    const outcome = this.#outcomes[batch & (OUTCOMES - 1)] ?? COPY_FAILED;
    return outcome === COPY_ORPHANED ? COPY_PENDING : outcome;
  }

  isIdle(): boolean {
    return true;
  }

  finish(): void {
    this.start();
  }

  renew(): boolean {
    return false;
  }

  close(): void {
    this.finish();
    this.#moves.close();
    unmapMemory(this.#staging);
  }

  // One that lives on with memory that is gone costs its lane one wait a second at most.
  #isEnding(pidfd: number): boolean {
    const nowMs = performance.now();
    const waitMs = nowMs < this.#noWaitBeforeMs ? 0 : ENDING_MS_MAX;
    if (waitReadable([pidfd], waitMs) !== 0) return true;
    this.#noWaitBeforeMs = nowMs + WAIT_AGAIN_MS;
    return false;
  }

  // A number of a process may be given to another one once it has ended: so first a look at that.
  #move(): void {
    const { pid, pidfd } = this.#process;
    const isThere = waitReadable([pidfd], 0) === 0;
    const missing = isThere ? this.#moves.move(pid, this.#direction) : -ESRCH;
    this.#moves.drop();
    if (missing === 0) return;
    // A process that is being killed loses its memory before its end is told.
    const isOrphan = missing === -ESRCH || this.#isEnding(pidfd);
    this.#outcome = isOrphan ? COPY_ORPHANED : COPY_FAILED;
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
