// How a benchmark cuts its payload into blocks. Remote blocks lie in a shuffled order, so that
// neighbours do not merge and each block is a descriptor of its own, as KV-cache blocks are.

import { at } from '../base/assert.js';
import { seededRandom } from '../base/random.js';

export interface BenchBlock {
  /** Where it lies at the initiator, and which part of the pattern it carries. */
  readonly localOffset: number;
  readonly remoteOffset: number;
  readonly bytes: number;
}

const LAYOUT_SEED = 7;

/** Pure, and the same on both ends. `blockBytes` 0 means one block. */
export function layOutBlocks(sizeBytes: number, blockBytes: number): BenchBlock[] {
  if (blockBytes === 0 || blockBytes >= sizeBytes) {
    return [{ localOffset: 0, remoteOffset: 0, bytes: sizeBytes }];
  }
  const whole = Math.floor(sizeBytes / blockBytes);
  const order = shuffle(whole);
  const blocks: BenchBlock[] = [];
  for (let index = 0; index < whole; index++) {
    const remoteOffset = at(order, index) * blockBytes;
    blocks.push({ localOffset: index * blockBytes, remoteOffset, bytes: blockBytes });
  }
  const restBytes = sizeBytes - whole * blockBytes;
  const restOffset = whole * blockBytes;
  if (restBytes > 0) {
    blocks.push({ localOffset: restOffset, remoteOffset: restOffset, bytes: restBytes });
  }
  return blocks;
}

function shuffle(count: number): Uint32Array {
  const random = seededRandom(LAYOUT_SEED);
  const order = new Uint32Array(count).map((_, index) => index);
  for (let index = count - 1; index > 0; index--) {
    const other = random.nextBetween(0, index);
    const held = at(order, index);
    order[index] = at(order, other);
    order[other] = held;
  }
  return order;
}
