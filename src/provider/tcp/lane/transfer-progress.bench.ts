// The lane's scheduler: claiming the next chunk of a transfer, and confirming it.

import { LaneEnd } from '../../../../test/support/lane-end.js';
import type { MicroCase, OpenMicroCase } from '../../../../test/support/micro-bench.js';
import { OPERATION_WRITE } from './layout.js';
import { claimChunk, confirmChunks, submitTransfer } from './transfer-progress.hot.js';

/** Never reached: the transfer stays active for all rounds. */
const CHUNKS = 0x7fffffff;

function openClaims(): OpenMicroCase {
  const end = new LaneEnd({ channels: 1, windowChunks: 16, chunkBytes: 4096 });
  const session = end.core.sessions[0];
  if (session === undefined) throw new Error('no session');
  session.isOpen = true;
  const slot = end.transfers.allocate({
    operation: OPERATION_WRITE,
    sessionIndex: 0,
    chunkCount: CHUNKS,
    remotesAt: 0,
    pairsAt: 0,
    chunksAt: 0,
    notifyBytes: -1,
    notifyAt: -1,
    holders: 1,
  });
  submitTransfer(end.core, slot);
  let next = 0;
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        if (claimChunk(end.core, session) !== next) throw new Error(`chunk ${next} is another`);
        next++;
        confirmChunks(end.core, slot, 1);
      }
    },
    close: () => end.destroy(),
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  { name: 'scheduler: claim and confirm one chunk', operations: 1_000_000, open: openClaims },
];
