// Whether the payload of a session's transfers leaves as references to its pages or is copied by
// the kernel. References cost a third of the sender's CPU, copies are faster on some machines and
// under some congestion controls, and nobody can tell beforehand. So a session tries: for each size
// it uses the way that was faster, and the other one now and then. Likewise whether copies into
// shared memory go past the cache, which is what no reference is there, or through the cache. Pure.

export type SendWayName = 'splice' | 'copy';

/** Shorter payload is copied in any case. */
export const WAY_BYTES_MIN = 64 * 1024;
/** Below it a copy comes first: it is sooner done, and costs hardly more CPU than references. */
const COPY_FIRST_BYTES = 128 * 1024;
/** Samples of each way that count, the newest; and how many of both a change needs. */
const SAMPLES = 8;
const SAMPLES_MIN = 5;
/** Of the samples in order: noise only ever slows, so the faster ones tell more. */
const QUARTILE = 0.25;
/** Every so many transfers of a size are a trial, until both ways are known. */
// Not those of the spread over lanes; and odd: programs post in rounds of even numbers, and the
// trial shall not always meet the same one.
const TRIAL_TURNS = 5;
/** Later a trial comes when it costs no more than this share, within these limits. */
const TRIAL_COST = 0.005;
const SETTLED_TURNS_MIN = 17;
const SETTLED_TURNS_MAX = 503;
/**
 * A change must pay. Of few bytes a copy costs no more CPU than references, and either must be
 * faster by the first; of more it must be faster by the second to be worth its CPU, and a reference
 * need only be as fast. Whoever sets nothing stays within the second of the best.
 */
const GAIN_OF_EITHER = 0.97;
const GAIN_OF_COPY = 0.95;
/** Who lost by so much twice need not lose three times more to be known. */
const CLEAR_LOSS = 1.5;
const CLEAR_SAMPLES = 2;

interface SizeClass {
  current: SendWayName;
  turns: number;
  triedAt: number;
  /** Lanes with which the samples were taken: with others all is new. */
  lanes: number;
  readonly samples: Record<SendWayName, number[]>;
  reason: string;
}

/** How the two ways are called where they are explained. */
interface WayWords {
  readonly first: Readonly<Record<SendWayName, string>>;
  readonly splice: string;
  readonly copy: string;
}

export const SOCKET_WAYS: WayWords = {
  first: {
    splice: 'auto: by reference first, no copy has been tried',
    copy: 'auto: by copy first, for so few bytes; no reference has been tried',
  },
  splice: 'references',
  copy: 'a copy',
};

export const RING_WAYS: WayWords = {
  first: {
    splice: 'auto: past the cache first, through it has not been tried',
    copy: 'auto: through the cache first, for so few bytes; past it has not been tried',
  },
  splice: 'a copy past it',
  copy: 'a copy through the cache',
};

export class SendWay {
  readonly #words: WayWords;
  /** By the power of two that the transfer's bytes reach. */
  readonly #classes: (SizeClass | undefined)[] = [];

  constructor(words = SOCKET_WAYS) {
    this.#words = words;
  }

  /** `mayTry`: nothing else about this transfer is a trial. */
  wayFor(bytes: number, mayTry: boolean): SendWayName {
    const size = this.#classOf(bytes);
    if (!mayTry) return size.current;
    size.turns++;
    if (size.turns - size.triedAt < turnsToTrial(size)) return size.current;
    size.triedAt = size.turns;
    return otherThan(size.current);
  }

  onDone(bytes: number, durationUs: number, way: SendWayName, lanes: number): void {
    const size = this.#classOf(bytes);
    if (lanes !== size.lanes) {
      size.lanes = lanes;
      for (const samples of Object.values(size.samples)) samples.length = 0;
    }
    const samples = size.samples[way];
    if (samples.length === SAMPLES) samples.shift();
    samples.push(durationUs / bytes);
    if (way !== size.current) this.#judge(size, bytes);
  }

  /** Why transfers of so many bytes go as they do. */
  reasonFor(bytes: number): string {
    return this.#classOf(bytes).reason;
  }

  #judge(size: SizeClass, bytes: number): void {
    if (!isKnown(size)) return;
    const other = otherThan(size.current);
    const [used, tried] = [quartile(size.samples[size.current]), quartile(size.samples[other])];
    if (tried < used * gainOf(other, bytes)) size.current = other;
    const [splice, copy] = other === 'copy' ? [used, tried] : [tried, used];
    const words = this.#words;
    const ratio = (copy / splice).toFixed(2);
    size.reason = `auto: ${words.copy} took ${ratio} × the time of ${words.splice}`;
  }

  #classOf(bytes: number): SizeClass {
    const index = Math.floor(Math.log2(bytes));
    const known = this.#classes[index];
    if (known !== undefined) return known;
    const current = bytes < COPY_FIRST_BYTES ? 'copy' : 'splice';
    const fresh: SizeClass = {
      current,
      turns: 0,
      triedAt: 0,
      lanes: 0,
      samples: { splice: [], copy: [] },
      reason: this.#words.first[current],
    };
    this.#classes[index] = fresh;
    return fresh;
  }
}

function gainOf(way: SendWayName, bytes: number): number {
  if (bytes < COPY_FIRST_BYTES) return GAIN_OF_EITHER;
  return way === 'copy' ? GAIN_OF_COPY : 1;
}

function otherThan(way: SendWayName): SendWayName {
  return way === 'splice' ? 'copy' : 'splice';
}

function isKnown(size: SizeClass): boolean {
  const { current, samples } = size;
  const tried = samples[otherThan(current)];
  if (samples[current].length < SAMPLES_MIN) return false;
  return tried.length >= SAMPLES_MIN || (tried.length >= CLEAR_SAMPLES && loss(size) > CLEAR_LOSS);
}

/** What is hardly slower is looked at often, what was far slower now and then: things change. */
function turnsToTrial(size: SizeClass): number {
  if (!isKnown(size)) return TRIAL_TURNS;
  const worth = Math.ceil((loss(size) - 1) / TRIAL_COST) | 1;
  return Math.max(SETTLED_TURNS_MIN, Math.min(SETTLED_TURNS_MAX, worth));
}

/** Of the way that is tried, against the one in use. */
function loss({ current, samples }: SizeClass): number {
  return quartile(samples[otherThan(current)]) / quartile(samples[current]);
}

function quartile(samples: readonly number[]): number {
  const sorted = [...samples].sort((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) * QUARTILE)] ?? Number.NaN;
}
