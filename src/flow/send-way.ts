// Whether the payload of a session's transfers leaves as references to its pages or is copied by
// the kernel. References cost a third of the sender's CPU, copies are faster on some machines and
// under some congestion controls, and nobody can tell beforehand. So a session tries: for each size
// it uses the way that was faster, and the other one now and then. Likewise whether copies into
// shared memory go past the cache, which is what no reference is there, or through the cache. Pure.

import { middle } from './middle.js';

export type SendWayName = 'splice' | 'copy';

/** Shorter payload is copied in any case. */
export const WAY_BYTES_MIN = 64 * 1024;
/** Below it a copy comes first: it is sooner done, and costs hardly more CPU than references. */
const COPY_FIRST_BYTES = 128 * 1024;
/**
 * A trial is held against so many usual transfers before it, and as many after it, of which the
 * faster side counts: a slow moment shall not look like a slow way.
 */
const SIDE_RUN = 3;
/** Ratios of trials that count, the newest; and how many a change needs. */
const RATIOS_MAX = 8;
const RATIOS_MIN = 5;
/** Every so many transfers of a size are a trial, until both ways are known. */
// Not those of the spread over lanes; and odd: programs post in rounds of even numbers, and the
// trial shall not always meet the same one.
const TRIAL_TURNS = 5;
/** Later a trial comes when it costs no more than this share, within these limits. */
const TRIAL_COST = 0.005;
const SETTLED_TURNS_MIN = 17;
const SETTLED_TURNS_MAX = 503;
/** No other begins while a trial is out; after so many one that never ends is given up. */
const LOST_TURNS = 1001;
/** What a change must gain where bytes are so few that both ways cost the same CPU. */
const GAIN_OF_FEW = 0.97;
/** Who lost by so much twice need not lose three times more to be known. */
const CLEAR_LOSS = 1.5;
const CLEAR_RATIOS = 2;

/** Times of a byte: of usual transfers just before, of the one that was tried, and just after. */
interface Trial {
  readonly before: number;
  tried: number | undefined;
  readonly after: number[];
}

interface SizeClass {
  current: SendWayName;
  turns: number;
  triedAt: number;
  /** Turns from one trial to the next, as its ratios make them. */
  period: number;
  /** Lanes with which all was measured: with others all is new. */
  lanes: number;
  /** Times of a byte of the newest usual transfers. */
  used: number[];
  /** What the other way took of the time of this one, by trial. */
  ratios: number[];
  trial: Trial | undefined;
  reason: string;
}

/** What the two ways are called where they are explained, and what a change to one must gain. */
interface Ways {
  readonly first: Readonly<Record<SendWayName, string>>;
  readonly names: Readonly<Record<SendWayName, string>>;
  readonly gains: Readonly<Record<SendWayName, number>>;
}

/** A copy must be worth its CPU; a reference need only be as fast. */
export const SOCKET_WAYS: Ways = {
  first: {
    splice: 'auto: by reference first, no copy has been tried',
    copy: 'auto: by copy first, for so few bytes; no reference has been tried',
  },
  names: { splice: 'references', copy: 'a copy' },
  gains: { splice: 1, copy: 0.95 },
};

export const RING_WAYS: Ways = {
  first: {
    splice: 'auto: past the cache first, through it has not been tried',
    copy: 'auto: through the cache first, for so few bytes; past it has not been tried',
  },
  names: { splice: 'a copy past it', copy: 'a copy through the cache' },
  gains: { splice: 0.97, copy: 0.97 },
};

export class SendWay {
  readonly #ways: Ways;
  /** By the power of two that the transfer's bytes reach. */
  readonly #classes: (SizeClass | undefined)[] = [];

  constructor(ways = SOCKET_WAYS) {
    this.#ways = ways;
  }

  /** `mayTry`: nothing else about this transfer is a trial. */
  wayFor(bytes: number, mayTry: boolean): SendWayName {
    const size = this.#classOf(bytes);
    if (!mayTry) return size.current;
    size.turns++;
    const turns = size.turns - size.triedAt;
    const isOut = size.trial !== undefined && turns < LOST_TURNS;
    if (isOut || turns < size.period || size.used.length < SIDE_RUN) return size.current;
    size.triedAt = size.turns;
    size.trial = { before: middle(size.used), tried: undefined, after: [] };
    return otherThan(size.current);
  }

  onDone(bytes: number, durationUs: number, way: SendWayName, lanes: number): void {
    const size = this.#classOf(bytes);
    if (lanes !== size.lanes) beginAnew(size, lanes);
    const { trial } = size;
    const time = durationUs / bytes;
    if (way !== size.current) {
      if (trial !== undefined) trial.tried ??= time;
      return;
    }
    size.used.push(time);
    if (size.used.length > SIDE_RUN) size.used.shift();
    if (trial?.tried === undefined) return;
    trial.after.push(time);
    if (trial.after.length === SIDE_RUN) this.#judge(size, bytes, trial, trial.tried);
  }

  /** Why transfers of so many bytes go as they do. */
  reasonFor(bytes: number): string {
    return this.#classOf(bytes).reason;
  }

  #judge(size: SizeClass, bytes: number, { before, after }: Trial, tried: number): void {
    size.trial = undefined;
    size.ratios.push(tried / Math.min(before, middle(after)));
    if (size.ratios.length > RATIOS_MAX) size.ratios.shift();
    size.period = periodOf(size.ratios);
    if (!isKnown(size.ratios)) return;
    const ratio = middle(size.ratios);
    const other = otherThan(size.current);
    const { names, gains } = this.#ways;
    const ofCopy = (other === 'copy' ? ratio : 1 / ratio).toFixed(2);
    size.reason = `auto: ${names.copy} took ${ofCopy} × the time of ${names.splice}`;
    if (ratio >= (bytes < COPY_FIRST_BYTES ? GAIN_OF_FEW : gains[other])) return;
    size.current = other;
    beginAnew(size, size.lanes);
  }

  #classOf(bytes: number): SizeClass {
    const index = Math.floor(Math.log2(bytes));
    const known = this.#classes[index];
    if (known !== undefined) return known;
    const current = bytes < COPY_FIRST_BYTES ? 'copy' : 'splice';
    const reason = this.#ways.first[current];
    const fresh: SizeClass = {
      ...{ current, turns: 0, triedAt: 0, period: TRIAL_TURNS, lanes: 0, reason },
      ...{ used: [], ratios: [], trial: undefined },
    };
    this.#classes[index] = fresh;
    return fresh;
  }
}

function beginAnew(size: SizeClass, lanes: number): void {
  size.lanes = lanes;
  size.used = [];
  size.ratios = [];
  size.period = TRIAL_TURNS;
  size.trial = undefined;
}

function otherThan(way: SendWayName): SendWayName {
  return way === 'splice' ? 'copy' : 'splice';
}

function isKnown(ratios: readonly number[]): boolean {
  if (ratios.length >= RATIOS_MIN) return true;
  return ratios.length >= CLEAR_RATIOS && Math.min(...ratios) > CLEAR_LOSS;
}

/** What is hardly slower is looked at often, what was far slower now and then: things change. */
function periodOf(ratios: readonly number[]): number {
  if (!isKnown(ratios)) return TRIAL_TURNS;
  const worth = Math.min(SETTLED_TURNS_MAX, (middle(ratios) - 1) / TRIAL_COST);
  return Math.max(SETTLED_TURNS_MIN, Math.ceil(worth) | 1);
}
