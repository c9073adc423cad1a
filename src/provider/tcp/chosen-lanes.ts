// Which lanes of a session a transfer may have, and for how many channels it is cut.

import type { LaneMemory, LaneSpread } from '../../flow/lane-spread.js';
import type { LaneSession } from './lane-carrier.js';
import type { RequestPlan } from './lane-request.js';
import type { LaneSet } from './lane-set.js';

/**
 * Fewer bytes than this the thread that posts moves itself, where it has a lane of its own; so many
 * are worth all channels of a session.
 */
export const LARGE_BYTES = 128 * 1024;
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
  readonly own: ChosenLanes | undefined;
  readonly threads: ChosenLanes;
}

/** What small transfers take of a session's lanes, and what large ones. */
export class LaneSides {
  readonly #lanes: Pick<LaneSet, 'own' | 'threadCount'>;
  readonly #largeBytes: number;
  /** By the lanes of a session that live. */
  readonly #known = new WeakMap<readonly number[], Sides>();

  /** `largeBytes`: see LARGE_BYTES. */
  constructor(lanes: Pick<LaneSet, 'own' | 'threadCount'>, largeBytes: number) {
    this.#lanes = lanes;
    this.#largeBytes = largeBytes;
  }

  /** What a transfer of so many bytes is cut for, whenever it is posted. */
  usual({ recovery }: LaneSession, bytes: number, memory: LaneMemory): ChosenLanes {
    const { own, threads } = this.#of(recovery.book.livingLanes);
    return this.#lanes.own?.use === 'all' && this.#isSmall(bytes, memory)
      ? (own ?? threads)
      : threads;
  }

  /**
   * What is posted now takes. `hasRoom`: what this thread's own lane has in hand leaves room for
   * more; a program that posts without end and looks later has threads for the rest.
   */
  now(session: LaneSession, bytes: number, memory: LaneMemory, hasRoom: boolean): ChosenLanes {
    const { recovery } = session;
    const { own, threads } = this.#of(recovery.book.livingLanes);
    const lane = this.#lanes.own;
    if (lane === undefined || !this.#isSmall(bytes, memory) || !lane.isLookedAt) return threads;
    if (own === undefined) {
      // The next ones have it.
      if (session.facts.plan.own >= 0) recovery.want(session.facts.plan.own);
      return threads;
    }
    return lane.use === 'all' || hasRoom ? own : threads;
  }

  /** Lanes with threads, where there are any. */
  threads({ recovery }: LaneSession): ChosenLanes {
    return this.#of(recovery.book.livingLanes).threads;
  }

  /** Lanes that may take, now, what was begun on this side. */
  sideOf({ recovery }: LaneSession, isOwn: boolean): readonly number[] {
    const { own, threads } = this.#of(recovery.book.livingLanes);
    return (isOwn ? (own ?? threads) : threads).lanes;
  }

  /** How many lanes with threads a session will have, once its channels have all come. */
  threadsOf({ facts, recovery }: LaneSession): number {
    const { channels } = facts.agreement;
    if (facts.plan.needed < channels) return Math.min(channels, this.#lanes.threadCount);
    return this.#of(recovery.book.livingLanes).threads.lanes.length;
  }

  /** A transfer of so many bytes has all channels made where the session began with one. */
  want({ facts, recovery }: LaneSession, bytes: number): void {
    const { agreement, plan } = facts;
    if (bytes < this.#largeBytes || plan.needed === agreement.channels) return;
    for (let channel = 0; channel < agreement.channels; channel++) recovery.want(channel);
  }

  // A GPU copies while its lane does other things, and nobody tells that it is done.
  #isSmall(bytes: number, memory: LaneMemory): boolean {
    return bytes < this.#largeBytes && memory !== 'staged';
  }

  // Without threads the lane of this thread takes everything.
  #of(living: readonly number[]): Sides {
    const known = this.#known.get(living);
    if (known !== undefined) return known;
    const { own, threadCount } = this.#lanes;
    const threads = living.filter((lane) => lane < threadCount);
    const hasBoth = own !== undefined && threads.length > 0 && threads.length < living.length;
    const sides = {
      own: hasBoth ? { lanes: [threadCount], isOwn: true } : undefined,
      threads: { lanes: hasBoth ? threads : living, isOwn: false },
    };
    this.#known.set(living, sides);
    return sides;
  }
}

/**
 * A request is cut for the channels of the lanes that it will have, of `threads`: pieces for all
 * eight of them make 1 MiB on one lane half as slow again. Several NICs are links of their own, all
 * wanted.
 */
export function limitsOf(
  session: LaneSession,
  spread: LaneSpread,
  bytes: number,
  chosen: ChosenLanes,
  threads: number,
): { chunkBytes: number; channels: number } {
  const { chunkBytes } = session.facts.agreement;
  const channels = channelsOf(session, chosen);
  const lanes = chosen.isOwn ? 1 : threads;
  if (lanes < 2 || hasLinks(session) || bytes === 0) return { chunkBytes, channels };
  const share = spread.expected(bytes, lanes) / lanes;
  return { chunkBytes, channels: Math.ceil(channels * share) };
}

/** The posting thread's own lane has one channel of each session, and only that one. */
function channelsOf({ facts }: LaneSession, { isOwn }: ChosenLanes): number {
  return isOwn ? 1 : facts.agreement.channels;
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
  const first = nics[0];
  for (const nic of nics) {
    // One that has not come yet has none.
    if (nic !== '' && nic !== first) return true;
  }
  return false;
}
