// Memory that is kept from run to run: mapping it anew, and collecting its views, would take more
// time than a whole run.

import {
  createFixedMemory,
  type FixedMemory,
  type MemorySource,
} from '../../../src/os/fixed-memory.js';
import { RING_HEADER_BYTES } from '../../../src/os/record-ring.js';
import {
  COMMAND_RING_BYTES,
  LANE_CONTROL_BYTES,
  type SharedShape,
  sharedOffsets,
} from '../../../src/provider/tcp/lane/layout.js';

const PAGE_BYTES = 4096;
/** By size; all runs of a process use the same few sizes. */
const spare = new Map<number, FixedMemory[]>();

export class KeptMemory implements MemorySource {
  readonly #shape: SharedShape;

  constructor(shape: SharedShape) {
    this.#shape = shape;
  }

  create(bytes: number): FixedMemory {
    const size = Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
    const memory = spare.get(size)?.pop() ?? createFixedMemory(size, { isReserveOnly: true });
    if (bytes === sharedOffsets(this.#shape).totalBytes) this.#clear(memory.uint8);
    return memory;
  }

  // Tables and the heads of rings; what rings and arena held does not matter.
  #clear(bytes: Uint8Array): void {
    const { lanesAt, laneBytes } = sharedOffsets(this.#shape);
    bytes.fill(0, 0, lanesAt);
    for (let lane = 0; lane < this.#shape.laneCount; lane++) {
      const controlAt = lanesAt + lane * laneBytes;
      const commandsAt = controlAt + LANE_CONTROL_BYTES;
      const eventsAt = commandsAt + RING_HEADER_BYTES + COMMAND_RING_BYTES;
      bytes.fill(0, controlAt, commandsAt + RING_HEADER_BYTES);
      bytes.fill(0, eventsAt, eventsAt + RING_HEADER_BYTES);
    }
  }

  destroy(memory: FixedMemory): void {
    const list = spare.get(memory.bytes) ?? [];
    list.push(memory);
    spare.set(memory.bytes, list);
  }
}
