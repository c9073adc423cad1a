// Device copies in a lane's turn: batches are started once per turn, and whether any is under way
// decides how soon the lane looks again.

import type { CopyQueue } from '../../../gpu/staging-device.js';
import type { LaneCore } from './lane-core.js';

/** Before the channels' turns: copies that are done now are taken in this turn. */
export function beginStaging(core: LaneCore): void {
  const staging = core.staging;
  staging.isPending = false;
  for (let index = 0; index < staging.stagers.length; index++) {
    const stager = staging.stagers[index]!;
    if (!stager.out.queue.isIdle() || !stager.into.queue.isIdle()) staging.isPending = true;
  }
}

/** After them: what the channels have added goes to the devices. */
export function startStaging(core: LaneCore): void {
  const staging = core.staging;
  for (let index = 0; index < staging.stagers.length; index++) {
    const stager = staging.stagers[index]!;
    if (stager.out.queue.start()) staging.isPending = true;
    if (stager.into.queue.start()) staging.isPending = true;
  }
}

/** A chunk was added: an idle device begins at once, a busy one takes it with the others later. */
export function onChunkAdded(core: LaneCore, queue: CopyQueue): void {
  if (!queue.isIdle()) return;
  startNow(core, queue);
}

/** Starts the batch. What a copy takes that is over at once is gone from the turn. */
export function startNow(core: LaneCore, queue: CopyQueue): void {
  queue.start();
  if (queue.isPrompt) core.nowUs += queue.lastUs;
  else core.staging.isPending = true;
}
