// Over how many lanes a transfer is spread. Waking one more lane, at both ends, costs tens of
// microseconds of its core: a large transfer is worth that, a small one is not, and where the line
// runs depends on the link. So a session tries: for each size of transfer it keeps the number of
// lanes that was fastest, and now and then tries the next one up or down. Pure.

import { assert, at } from '../base/assert.js';
import type { LaneIndex } from '../base/quantity.js';
import { middle } from './middle.js';

const LANE_BYTES = 2 * 1024 * 1024;
/** The same where lanes copy each byte once more at an end: a byte is worth more of a lane. */
const COPIED_LANE_BYTES = 256 * 1024;
/**
 * A trial comes after so many transfers of a size, and each next one after twice as many, up to the
 * latter, since the number of lanes was changed last.
 */
const TRIAL_TURNS = 13;
const TRIAL_TURNS_MAX = 247;
/**
 * Transfers of a trial, of which the last count: its lanes have slept, and their connections begin
 * small, or paced for another share. Nor do those count with which a size begins.
 */
const TRIAL_RUN = 8;
const TRIAL_COUNTED = 3;
const COLD_TURNS = 4;
/** Usual transfers that are timed after a trial, before it is judged. */
const AFTER_RUN = 3;
/** More lanes cost CPU: they must be faster by this, fewer may be as slow as this. */
const GAIN_OF_MORE = 0.93;
const LOSS_OF_FEWER = 1.02;
/** One good trial may be luck, unless it was that much faster: of two the worse counts. */
const TRIALS_OF_MORE = 2;
const CLEAR_GAIN = 0.75;
/** A neighbour is tried again, as the link may change, when the last trial cost this share. */
const TRIAL_COST = 0.005;
/** No trial counts as dearer: it may have met something else, and would never come again. */
const RATIO_MAX = 2;
/** Of usual transfers the newest count, by their median: no pause moves it. */
const USED_MAX = 5;
/** Of each number of lanes the newest trials count. */
const RATIOS_MAX = 3;

/** Times of a byte: of what was tried, and of usual transfers just before and just after. */
interface Trial {
  readonly lanes: number;
  readonly before: number;
  readonly tried: number[];
  readonly after: number[];
  left: number;
}

interface SizeClass {
  /** Lanes in use, and the times of a byte of the newest transfers with them. */
  current: number;
  used: number[];
  /** By number of lanes: what trials took of the time with those in use, and when the last was. */
  ratios: (number[] | undefined)[];
  triedAt: number[];
  turns: number;
  /** Turns at which those in use came into use, and at which the next trial comes. */
  changedAt: number;
  trialAt: number;
  /** How often a trial was due since; even ones go up. */
  dueCount: number;
  trial: Trial | undefined;
  reason: string;
}

export class LaneSpread {
  /** By the power of two that the transfer's bytes reach. */
  readonly #classes: (SizeClass | undefined)[] = [];
  readonly #laneBytes: number;
  readonly #beginMax: number;

  /**
   * Before anything is known. `laneBytes`: what one lane should have at least. `beginMax`: how many
   * a transfer begins with at most.
   */
  constructor(laneBytes = LANE_BYTES, beginMax = Number.POSITIVE_INFINITY) {
    this.#laneBytes = laneBytes;
    this.#beginMax = beginMax;
  }

  lanesFor(bytes: number, chunks: number, lanes: number): number {
    const most = Math.min(lanes, chunks);
    if (most < 2) return most;
    const size = this.#classOf(bytes, lanes);
    size.turns++;
    // Lanes may have gone since.
    const current = Math.min(size.current, lanes);
    if (size.trial !== undefined && size.trial.left > 0) {
      size.trial.left--;
      return Math.min(most, size.trial.lanes);
    }
    if (size.turns < size.trialAt) return Math.min(most, current);
    size.trialAt = size.turns + Math.min(size.turns - size.changedAt, TRIAL_TURNS_MAX);
    const isUp = size.dueCount++ % 2 === 0;
    const tried = Math.min(most, neighbour(current, isUp, lanes));
    const isOther = tried !== Math.min(most, current) && size.used.length > 0;
    if (!isOther || isTooDear(size, tried)) return Math.min(most, current);
    size.triedAt[tried] = size.turns;
    size.trial = trialOf(tried, middle(size.used));
    return tried;
  }

  /** Lanes that the next transfer of so many bytes gets, unless it is a trial. */
  expected(bytes: number, lanes: number): number {
    return Math.min(lanes, this.#classOf(bytes, lanes).current);
  }

  /** Why a transfer of so many bytes has that many. */
  reasonFor(bytes: number, lanes: number): string {
    return this.#classOf(bytes, lanes).reason;
  }

  onDone(bytes: number, durationUs: number, lanes: number): void {
    const size = this.#classes[Math.floor(Math.log2(bytes))];
    if (size === undefined || lanes === 0 || size.turns <= COLD_TURNS) return;
    const { trial } = size;
    const time = durationUs / bytes;
    if (lanes === size.current) {
      size.used.push(time);
      if (size.used.length > USED_MAX) size.used.shift();
      if (trial?.left === 0 && trial.tried.length >= TRIAL_COUNTED) trial.after.push(time);
    } else if (lanes === trial?.lanes) {
      trial.tried.push(time);
    }
    if (trial?.after.length === AFTER_RUN) judge(size, trial);
  }

  #classOf(bytes: number, lanes: number): SizeClass {
    const index = Math.floor(Math.log2(bytes));
    const known = this.#classes[index];
    if (known !== undefined) return known;
    const byBytes = Math.floor(bytes / this.#laneBytes);
    const worth = Math.max(1, Math.min(lanes, this.#beginMax, byBytes));
    const reason = `auto: to begin with, ${worth} of ${lanes} for this size`;
    const fresh: SizeClass = {
      ...{ current: worth, used: [], ratios: [], triedAt: [], trial: undefined, reason },
      ...{ turns: 0, changedAt: 0, trialAt: TRIAL_TURNS, dueCount: 0 },
    };
    this.#classes[index] = fresh;
    return fresh;
  }
}

/** What the lanes do with the memory at this end: nothing, have a GPU copy it, or copy it. */
export type LaneMemory = 'plain' | 'staged' | 'copied';

/**
 * What a session has learnt, by what moves: each direction has another bottleneck, GPU memory that
 * is staged yet another, and memory that lanes copy a third. What pays for the one says nothing
 * about the others.
 */
export class LaneSpreads {
  readonly #laneBytes: number | undefined;
  readonly #beginMax: number;
  readonly #spreads = new Map<string, LaneSpread>();

  constructor(laneBytes?: number, beginMax = Number.POSITIVE_INFINITY) {
    this.#laneBytes = laneBytes;
    this.#beginMax = beginMax;
  }

  of(operation: 'write' | 'read', memory: LaneMemory): LaneSpread {
    const kind = `${operation} ${memory}`;
    const known = this.#spreads.get(kind);
    if (known !== undefined) return known;
    const usual = memory === 'copied' ? COPIED_LANE_BYTES : LANE_BYTES;
    const fresh = new LaneSpread(this.#laneBytes ?? usual, this.#beginMax);
    this.#spreads.set(kind, fresh);
    return fresh;
  }
}

function neighbour(lanes: number, isUp: boolean, most: number): number {
  // At the end of the way the only trial is back.
  if (lanes <= 1) return 2;
  if (lanes >= most || !isUp) return Math.ceil(lanes / 2);
  return Math.min(most, lanes * 2);
}

function trialOf(lanes: number, before: number): Trial {
  return { lanes, before, tried: [], after: [], left: TRIAL_RUN - 1 };
}

/** Whether the turns since its last trial are too few for what such a trial costs. */
function isTooDear({ ratios, triedAt, turns }: SizeClass, lanes: number): boolean {
  const known = ratios[lanes];
  if (known === undefined) return false;
  const lostTurns = TRIAL_RUN * (middle(known) - 1);
  return (turns - at(triedAt, lanes)) * TRIAL_COST < lostTurns;
}

// A trial is held against usual transfers on both sides of it, and the faster side counts: while
// code is compiled and clocks rise, whatever comes later is faster, and was called better.
function judge(size: SizeClass, { lanes, before, tried, after }: Trial): void {
  size.trial = undefined;
  const ratios = (size.ratios[lanes] ??= []);
  const ratio = middle(tried.slice(-TRIAL_COUNTED)) / Math.min(before, middle(after));
  ratios.push(Math.min(RATIO_MAX, ratio));
  if (ratios.length > RATIOS_MAX) ratios.shift();
  const isMore = lanes > size.current;
  const isFirst = isMore && ratios.length < TRIALS_OF_MORE;
  const limit = isFirst ? CLEAR_GAIN : isMore ? GAIN_OF_MORE : LOSS_OF_FEWER;
  if (middle(ratios) >= limit) return;
  size.reason = `auto: ${lanes} were better by the byte than ${size.current} before`;
  size.current = lanes;
  size.changedAt = size.turns;
  size.trialAt = size.turns + TRIAL_TURNS;
  // The way it went is tried further first.
  size.dueCount = isMore ? 0 : 1;
  // What was found out was relative to the lanes before.
  size.used = [];
  size.ratios = [];
  size.triedAt = [];
}

/**
 * Transfers of fewer bytes are a moment's work: a lane that is awake takes so much of them, but
 * four at least. To wake others for more costs three times the CPU and gains a tenth at most.
 */
const SMALL_BYTES = 256 * 1024;
const LOAD_BYTES = 4096;
const FULL_LOAD = SMALL_BYTES / LOAD_BYTES;
const SMALL_LOAD_MAX = FULL_LOAD / 4;

/** What a transfer adds to the load of a lane: a large one leaves no room for small ones. */
export function loadOf(bytes: number): number {
  if (bytes >= SMALL_BYTES) return FULL_LOAD;
  return Math.max(1, Math.min(SMALL_LOAD_MAX, Math.ceil(bytes / LOAD_BYTES)));
}

/** Whether a lane has as much of small transfers as it shall have. */
export function isFull(loads: readonly number[], lane: LaneIndex): boolean {
  return at(loads, lane) >= FULL_LOAD;
}

/**
 * Of the lanes that are not taken, as bits: the first with the least load, by number of lane. For
 * small transfers the first that has room, so that one after another finds the same lane awake.
 */
export function chooseLane(
  loads: readonly number[],
  lanes: readonly number[],
  taken: number,
  bytes: number,
): number {
  const enough = bytes < SMALL_BYTES ? FULL_LOAD : 1;
  let best = -1;
  for (const lane of lanes) {
    if ((taken & (1 << lane)) !== 0) continue;
    if (at(loads, lane) < enough) return lane;
    if (best < 0 || at(loads, lane) < at(loads, best)) best = lane;
  }
  assert(best >= 0, 'no more lanes are told than there are');
  return best;
}
