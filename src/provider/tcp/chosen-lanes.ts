// Which lanes of a session a transfer may have, and for how many channels it is cut.

import type { LaneMemory, LaneSpread } from '../../flow/lane-spread.js';
import type { LaneSession } from './lane-carrier.js';
import type { RequestPlan } from './lane-request.js';
import type { LaneSet } from './lane-set.js';

/** Fewer bytes than this the thread that posts moves itself, where it has a lane of its own. */
const OWN_BYTES = 128 * 1024;
export const OWN_REASON = 'auto: fewer than 128 KiB, which the posting thread moves itself';
/**
 * A request of memory that lanes copy is cut for so many channels at least: while one piece is
 * copied the piece before is received, and copied again there.
 */
const COPIED_CHANNELS_MIN = 4;
/** Larger chunks were asked for, or fill the window of a far peer, which counts chunks. */
const CUT_CHUNK_BYTES_MAX = 512 * 1024;

export interface ChosenLanes {
  readonly lanes: readonly number[];
  /** The posting thread's, alone. */
  readonly isOwn: boolean;
}

interface Sides {
  readonly small: ChosenLanes;
  readonly large: ChosenLanes;
}

/** What small transfers take of a session's lanes, and what large ones. */
export class LaneSides {
  readonly #lanes: Pick<LaneSet, 'own' | 'threadCount'>;
  /** By the lanes of a session that live. */
  readonly #known = new WeakMap<readonly number[], Sides>();

  constructor(lanes: Pick<LaneSet, 'own' | 'threadCount'>) {
    this.#lanes = lanes;
  }

  /** A GPU copies while its lane does other things, and nobody tells that it is done. */
  lanesFor({ recovery }: LaneSession, bytes: number, memory: LaneMemory): ChosenLanes {
    const { small, large } = this.#of(recovery.book.livingLanes);
    return bytes < OWN_BYTES && memory !== 'staged' ? small : large;
  }

  /** Lanes that may take, now, what was begun on this side. */
  sideOf({ recovery }: LaneSession, isOwn: boolean): readonly number[] {
    const { small, large } = this.#of(recovery.book.livingLanes);
    return (isOwn ? small : large).lanes;
  }

  #of(living: readonly number[]): Sides {
    const known = this.#known.get(living);
    if (known !== undefined) return known;
    const { own, threadCount } = this.#lanes;
    const threads = living.filter((lane) => lane < threadCount);
    const hasBoth = own !== undefined && threads.length > 0 && threads.length < living.length;
    const all = { lanes: living, isOwn: false };
    const split = {
      small: { lanes: [threadCount], isOwn: true },
      large: { lanes: threads, isOwn: false },
    };
    const sides = hasBoth ? split : { small: all, large: all };
    this.#known.set(living, sides);
    return sides;
  }
}

/**
 * A request is cut for the channels of the lanes that it will have: pieces for all eight of them
 * make 1 MiB on one lane half as slow again. Several NICs are links of their own, all wanted.
 */
export function limitsOf(
  session: LaneSession,
  spread: LaneSpread,
  bytes: number,
  chosen: ChosenLanes,
): { chunkBytes: number; channels: number } {
  const { chunkBytes } = session.facts.agreement;
  const channels = channelsOf(session, chosen);
  const lanes = chosen.lanes.length;
  if (lanes < 2 || hasLinks(session) || bytes === 0) return { chunkBytes, channels };
  const share = spread.expected(bytes, lanes) / lanes;
  return { chunkBytes, channels: Math.ceil(channels * share) };
}

/** The posting thread's own lane has one channel of each session, and only that one. */
function channelsOf({ facts, recovery }: LaneSession, { lanes, isOwn }: ChosenLanes): number {
  if (isOwn) return 1;
  const hasOwn = lanes.length < recovery.book.livingLanes.length;
  return facts.agreement.channels - (hasOwn ? 1 : 0);
}

/** For memory that lanes copy: pieces for all of them, whether they are wanted yet or not. */
export function copiedLimits(session: LaneSession, memory: LaneMemory, chosen: ChosenLanes) {
  const { chunkBytes } = session.facts.agreement;
  if (memory !== 'copied' || chunkBytes > CUT_CHUNK_BYTES_MAX) return undefined;
  return { chunkBytes, channels: Math.max(COPIED_CHANNELS_MIN, channelsOf(session, chosen)) };
}

/** Of one lane nothing is chosen, and nothing learnt. */
export function holdersOf(lanes: readonly number[], spread: LaneSpread, plan: RequestPlan): number {
  const most = lanes.length;
  const chunks = plan.chunks.length;
  return most < 2 ? Math.min(most, chunks) : spread.lanesFor(plan.totalBytes, chunks, most);
}

/** Whether its channels go over several NICs. */
export function hasLinks({ facts: { nics } }: LaneSession): boolean {
  for (let channel = 1; channel < nics.length; channel++) {
    if (nics[channel] !== nics[0]) return true;
  }
  return false;
}
