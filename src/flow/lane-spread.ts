// Over how many lanes a transfer is spread. Waking one more lane, at both ends, costs tens of
// microseconds of its core: a large transfer is worth that, a small one is not, and where the line
// runs depends on the link. So a session tries: for each size of transfer it keeps the number of
// lanes that was fastest, and now and then tries the next one up or down. Pure.

import { assert, at } from '../base/assert.js';

const LANE_BYTES = 2 * 1024 * 1024;
/** Every so many transfers of a size are a trial, at first and later. */
// Odd: programs post in rounds of even numbers, and the trial shall not always meet the same one.
const TRIAL_TURNS = 7;
const SETTLED_TRIAL_TURNS = 31;
const SETTLED_AFTER_TURNS = 128;
/** Trials that a number of lanes needs before it can win. */
const SAMPLES_MIN = 2;
/** More lanes cost CPU: they must be faster by this, fewer may be as slow as this. */
const GAIN_OF_MORE = 0.93;
const LOSS_OF_FEWER = 1.02;
/** A neighbour that was slower by this is tried once in so many trials: the link may change. */
const HOPELESS = 1.25;
const HOPELESS_TRIALS = 8;
const SMOOTHING = 1 / 4;
/** A pause of somebody else's doing counts for no more than this. */
const OUTLIER = 2;

interface SizeClass {
  /** Lanes in use, and the mean time of a byte with each number of lanes that was tried. */
  current: number;
  readonly meanUs: number[];
  readonly samples: number[];
  turns: number;
}

export class LaneSpread {
  /** By the power of two that the transfer's bytes reach. */
  readonly #classes: (SizeClass | undefined)[] = [];
  readonly #laneBytes: number;

  /** `laneBytes`: what one lane should have at least, before anything is known. */
  constructor(laneBytes = LANE_BYTES) {
    this.#laneBytes = laneBytes;
  }

  lanesFor(bytes: number, chunks: number, lanes: number): number {
    const most = Math.min(lanes, chunks);
    if (most < 2) return most;
    const size = this.#classOf(bytes, lanes);
    size.turns++;
    const isSettled = size.turns > SETTLED_AFTER_TURNS;
    const period = isSettled ? SETTLED_TRIAL_TURNS : TRIAL_TURNS;
    // Lanes may have gone since.
    const current = Math.min(size.current, lanes);
    if (size.turns % period !== 0) return Math.min(most, current);
    const trial = size.turns / period;
    const tried = neighbour(current, trial % 2 === 0, lanes);
    const isDue = !isHopeless(size, tried) || Math.floor(trial / 2) % HOPELESS_TRIALS === 0;
    return Math.min(most, isDue ? tried : current);
  }

  /** Lanes that the next transfer of so many bytes gets, unless it is a trial. */
  expected(bytes: number, lanes: number): number {
    return Math.min(lanes, this.#classOf(bytes, lanes).current);
  }

  onDone(bytes: number, durationUs: number, lanes: number): void {
    const size = this.#classes[Math.floor(Math.log2(bytes))];
    if (size === undefined || lanes === 0) return;
    const sample = durationUs / bytes;
    const known = size.meanUs[lanes] ?? sample;
    size.meanUs[lanes] = known + (Math.min(sample, OUTLIER * known) - known) * SMOOTHING;
    size.samples[lanes] = (size.samples[lanes] ?? 0) + 1;
    if (isBetter(size, lanes)) size.current = lanes;
  }

  #classOf(bytes: number, lanes: number): SizeClass {
    const index = Math.floor(Math.log2(bytes));
    const known = this.#classes[index];
    if (known !== undefined) return known;
    const worth = Math.max(1, Math.min(lanes, Math.floor(bytes / this.#laneBytes)));
    const fresh = { current: worth, meanUs: [], samples: [], turns: 0 };
    this.#classes[index] = fresh;
    return fresh;
  }
}

function neighbour(lanes: number, isUp: boolean, most: number): number {
  // At the end of the way the only trial is back.
  if (lanes <= 1) return 2;
  if (lanes >= most || !isUp) return Math.ceil(lanes / 2);
  return Math.min(most, lanes * 2);
}

function isHopeless({ current, meanUs, samples }: SizeClass, lanes: number): boolean {
  const [tried, used] = [meanUs[lanes], meanUs[current]];
  if (tried === undefined || used === undefined) return false;
  return (samples[lanes] ?? 0) >= SAMPLES_MIN && tried > used * HOPELESS;
}

function isBetter({ current, meanUs, samples }: SizeClass, lanes: number): boolean {
  if (lanes === current) return false;
  const [tried, used] = [meanUs[lanes], meanUs[current]];
  if (tried === undefined || used === undefined) return false;
  if ((samples[lanes] ?? 0) < SAMPLES_MIN || (samples[current] ?? 0) < SAMPLES_MIN) return false;
  return tried < used * (lanes > current ? GAIN_OF_MORE : LOSS_OF_FEWER);
}

/** Transfers of fewer bytes are a moment's work: a lane that is awake takes a few of them. */
const SMALL_BYTES = 256 * 1024;
const SMALL_PER_LANE = 4;

/**
 * Of the lanes that are not taken, as bits: the first with the fewest transfers, by number of lane.
 * For small transfers the first that has few, so that one after another finds the same lane awake.
 */
export function chooseLane(
  loads: readonly number[],
  lanes: readonly number[],
  taken: number,
  bytes: number,
): number {
  const enough = bytes < SMALL_BYTES ? SMALL_PER_LANE : 1;
  let best = -1;
  for (const lane of lanes) {
    if ((taken & (1 << lane)) !== 0) continue;
    if (at(loads, lane) < enough) return lane;
    if (best < 0 || at(loads, lane) < at(loads, best)) best = lane;
  }
  assert(best >= 0, 'no more lanes are told than there are');
  return best;
}
