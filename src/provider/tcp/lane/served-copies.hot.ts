// Answers to a peer's reads of GPU memory: copied into pinned slots ahead of the socket, framed
// when their copy is done. A slot that leaves by reference stays until its answer is confirmed.

import { FAIL_PEER_DEVICE } from '../../../base/failure.js';
import { COPY_DONE, COPY_PENDING } from '../../../gpu/staging-device.js';
import { closeAccess } from '../../../memory/region-access.hot.js';
import { regionDevice } from '../../../memory/region-table.js';
import type { Channel } from './channel.js';
import { FLIGHT_MASK } from './flight.js';
import {
  dropSlot,
  fitsAnswer,
  freeReferred,
  giveOut,
  renewReferred,
  takeOut,
} from './held-slots.hot.js';
import type { LaneCore } from './lane-core.js';
import { SENT_ALONE_BYTES } from './send-vector.hot.js';
import { nextPlace } from './served-reads.js';
import { NO_SLOT } from './stager.js';
import { onChunkAdded } from './staging-turn.hot.js';

/** Begins the copies for reads of the peer that have come, as far as there are slots. */
export function startServes(core: LaneCore, channel: Channel): void {
  const { served } = channel;
  let copied = 0;
  while (served.started !== served.tail) {
    const at = served.started & FLIGHT_MASK;
    const region = served.region[at]!;
    const device = region < 0 ? 0 : regionDevice(core.regions, region);
    served.device[at] = device;
    const taken = device === 0 ? NO_SLOT : takeOut(core, channel, device);
    if (device !== 0 && taken === NO_SLOT) return;
    served.slot[at] = taken;
    if (taken >= 0) copyServe(core, channel, at);
    served.started = (served.started + 1) | 0;
    if (taken < 0 || !channel.stagers[device]!.out.queue.isPrompt) continue;
    // Copied already: the reader takes these while the next is copied.
    copied += served.bytes[at]!;
    if (copied >= SENT_ALONE_BYTES) return;
  }
}

function copyServe(core: LaneCore, channel: Channel, at: number): void {
  const { served } = channel;
  const pool = channel.stagers[served.device[at]!]!.out;
  const taken = served.slot[at]!;
  const floats = served.memory.float64;
  const count = served.segments[at]!;
  let place = served.placeAt[at]!;
  let offset = taken * pool.slotBytes;
  pool.batch[taken] = pool.queue.begin(count);
  pool.startedUs[taken] = core.nowUs;
  for (let index = 0; index < count; index++) {
    const bytes = floats[place * 2 + 1]!;
    pool.queue.add(floats[place * 2]!, offset, bytes);
    place = nextPlace(served, place);
    offset += bytes;
  }
  onChunkAdded(core, pool.queue);
}

/** Whether the oldest read of the peer can be answered; one that cannot ever becomes a refusal. */
export function isServeReady(core: LaneCore, channel: Channel): boolean {
  const { served } = channel;
  if (served.framed === served.started) return false;
  const at = served.framed & FLIGHT_MASK;
  const taken = served.slot[at]!;
  if (taken === NO_SLOT) return true;
  const device = served.device[at]!;
  if (taken >= 0) {
    const pool = channel.stagers[device]!.out;
    const outcome = pool.queue.poll(pool.batch[taken]!);
    if (outcome === COPY_PENDING) return false;
    if (outcome === COPY_DONE) return fitsAnswer(core, channel, device, served.bytes[at]!);
    giveOut(channel, device, taken);
  }
  closeAccess(core.regions, served.region[at]!);
  served.region[at] = -1;
  served.segments[at] = FAIL_PEER_DEVICE;
  served.slot[at] = NO_SLOT;
  return true;
}

/** Where the bytes of the read that is framed now lie; 0: in the region itself. */
export function servedAddr(channel: Channel, at: number): number {
  const { served } = channel;
  const taken = served.slot[at]!;
  return taken < 0 ? 0 : channel.stagers[served.device[at]!]!.out.addr(taken);
}

/** How long its copy took, until it was framed. */
export function servedCopyUs(core: LaneCore, channel: Channel, at: number): number {
  const { served } = channel;
  const pool = channel.stagers[served.device[at]!]!.out;
  return core.nowUs - pool.startedUs[served.slot[at]!]!;
}

/** The peer has the answer that was referred to. */
export function freeAnswer(channel: Channel, at: number): void {
  const { served } = channel;
  if (served.slot[at]! >= 0) freeReferred(channel, served.device[at]!, served.slot[at]!);
}

/** The channel ends: waits for these copies and gives their slots back. */
export function dropServedCopies(channel: Channel): void {
  const { served } = channel;
  for (let at = served.done; at !== served.framed; at = (at + 1) | 0) {
    const place = at & FLIGHT_MASK;
    if (served.held[place] === 0 || served.slot[place]! < 0) continue;
    renewReferred(channel, served.device[place]!, served.slot[place]!);
    // Its region is not what the peer may still read.
    served.held[place] = 0;
  }
  for (let at = served.framed; at !== served.started; at = (at + 1) | 0) {
    dropSlot(channel, served.device[at & FLIGHT_MASK]!, served.slot[at & FLIGHT_MASK]!);
  }
}
