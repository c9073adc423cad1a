// Planning a request: what preparing costs, per chunk or per block.

import type { MicroCase, OpenMicroCase } from '../../test/support/micro-bench.js';
import { emptyColumns, mergePairs, type PairColumns, planChunks } from './chunk-plan.js';

const CHUNK_BYTES = 512 * 1024;
const PAIRS_MAX = 1000;
const BLOCKS = 10_000;
const ONE_BLOCK_CHUNKS = 1024;

/** Blocks in reverse order at the target, so that no two merge. */
function scatteredBlocks(count: number, blockBytes: number): PairColumns {
  const pairs = emptyColumns(count);
  for (let index = 0; index < count; index++) {
    pairs.localAddr[index] = 2 ** 40 + index * blockBytes;
    pairs.remoteOffset[index] = (count - 1 - index) * blockBytes;
    pairs.bytes[index] = blockBytes;
  }
  return pairs;
}

function openOneBlock(): OpenMicroCase {
  const pairs = scatteredBlocks(1, ONE_BLOCK_CHUNKS * CHUNK_BYTES);
  const limits = { chunkBytes: CHUNK_BYTES, channels: 1, pairsMax: PAIRS_MAX };
  return {
    run: (operations) => {
      for (let done = 0; done < operations; done += ONE_BLOCK_CHUNKS) {
        const { length } = planChunks(pairs, limits);
        if (length !== ONE_BLOCK_CHUNKS) throw new Error(`${length} chunks`);
      }
    },
    close: () => undefined,
  };
}

function openManyBlocks(): OpenMicroCase {
  const pairs = scatteredBlocks(BLOCKS, 16 * 1024);
  const limits = { chunkBytes: CHUNK_BYTES, channels: 4, pairsMax: PAIRS_MAX };
  return {
    run: (operations) => {
      for (let done = 0; done < operations; done += BLOCKS) {
        const merged = mergePairs(pairs);
        if (merged.count !== BLOCKS) throw new Error(`${merged.count} blocks`);
        const chunks = planChunks(merged, limits);
        if (chunks.length * PAIRS_MAX < BLOCKS) throw new Error(`${chunks.length} chunks`);
      }
    },
    close: () => undefined,
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  { name: 'plan: one chunk of a large block', operations: 102_400, open: openOneBlock },
  {
    name: `plan: merge and plan one of ${BLOCKS} scattered blocks`,
    operations: 200_000,
    open: openManyBlocks,
  },
];
