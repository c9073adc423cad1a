// Memory of control sockets, kept for the next socket: mapping and unmapping it is a tenth of the
// time that a session takes to open and close.

import { createIovTable, destroyIovTable, type IovTable } from '../ffi/libc/message.js';
import { createFixedMemory, destroyFixedMemory, type FixedMemory } from './fixed-memory.js';

export const INPUT_BYTES = 8 * 1024;
export const QUEUE_BYTES_MAX = 64 * 1024;

export interface ControlBuffers {
  readonly input: FixedMemory;
  readonly output: FixedMemory;
  readonly iov: IovTable;
}

export class ControlBufferPool {
  readonly #spare: ControlBuffers[] = [];
  readonly #spareMax: number;
  #isClosed = false;

  /** So many are kept at most, whatever a flood of peers has needed. */
  constructor(spareMax: number) {
    this.#spareMax = spareMax;
  }

  get spareCount(): number {
    return this.#spare.length;
  }

  take(): ControlBuffers {
    return this.#spare.pop() ?? createBuffers();
  }

  giveBack(buffers: ControlBuffers): void {
    if (this.#isClosed || this.#spare.length >= this.#spareMax) destroyBuffers(buffers);
    else this.#spare.push(buffers);
  }

  close(): void {
    this.#isClosed = true;
    for (const buffers of this.#spare.splice(0)) destroyBuffers(buffers);
  }
}

function createBuffers(): ControlBuffers {
  const input = createFixedMemory(INPUT_BYTES);
  const output = createFixedMemory(QUEUE_BYTES_MAX);
  return { input, output, iov: createIovTable() };
}

function destroyBuffers({ input, output, iov }: ControlBuffers): void {
  destroyFixedMemory(input);
  destroyFixedMemory(output);
  destroyIovTable(iov);
}
