// A comparison from the first check to the last round. In every round each contender and each roof
// has one turn; the order turns round, because a machine that gets slower favours the first.

import { processEnvironment } from '../../base/config.js';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import type { BenchResult } from '../bench-result.js';
import {
  type BindingRoof,
  bindingRoofs,
  type ComparedRow,
  compareSeries,
  type Roof,
  type Series,
} from './comparison.js';
import {
  absentPrograms,
  type CompareShape,
  type Contender,
  checkOwn,
  ownContenders,
  peerContenders,
} from './contenders.js';
import { gpuRoof, linkRoof, MeasuredRoofs } from './roofs.js';

export interface CompareOptions extends Omit<CompareShape, 'onOwn' | 'channels'> {
  readonly rounds: number;
  /** No round begins after so long; at least one is made. */
  readonly limitMs: number;
  onTurn(done: number, total: number, name: string): void;
}

export interface CompareOutcome {
  /** That all contenders have begun; the last may lack some where `partial` says so. */
  readonly rounds: number;
  /** Why it ended early. */
  readonly partial?: string;
  readonly series: readonly Series[];
  readonly rows: readonly ComparedRow[];
  readonly roofs: readonly Roof[];
  readonly binding: readonly BindingRoof[];
  /** Programs that are not installed. */
  readonly absent: readonly string[];
  /** Those that are and gave no figure, with the reason. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** Of our own run in which every byte was compared. */
  readonly checked: BenchResult;
  /** Our own of the last round. */
  readonly own: readonly BenchResult[];
}

export async function runComparison(options: CompareOptions): Promise<CompareOutcome> {
  const own = new Map<string, BenchResult>();
  let channels = 1;
  const shape: CompareShape = {
    ...options,
    onOwn: (work, result) => own.set(work, result),
    channels: () => channels,
  };
  const checked = await checkOwn(shape);
  channels = checked.channels;
  const peers = peerContenders(shape);
  const absent = absentPrograms(peers, processEnvironment());
  const present = peers.filter(({ program }) => !absent.includes(program));
  const arena = new Arena([...ownContenders(shape), ...present], options);
  const measured = new MeasuredRoofs();
  try {
    const rounds = await arena.play(() => measured.measure(options.congestion));
    const cores = Math.min(channels, Math.max(1, checked.lanes));
    const roofs = [
      ...measured.roofs(options.host === undefined, cores),
      linkRoof(own.get('write') ?? checked),
      gpuRoof(options.config.values['bench.memory']),
    ];
    // Who was not begun before it was stopped has none.
    const series = arena.series().filter(({ figures }) => figures.length > 0);
    const rows = compareSeries(series);
    const binding = bindingRoofs(series, roofs);
    const failed = arena.failures();
    return {
      rounds,
      series,
      rows,
      roofs,
      binding,
      absent,
      failed,
      checked,
      own: [...own.values()],
      ...(options.stop.aborted ? { partial: 'stopped by the user' } : {}),
    };
  } finally {
    await measured.close();
  }
}

type ArenaOptions = Pick<CompareOptions, 'rounds' | 'limitMs' | 'stop' | 'onTurn'>;

/** Where contenders take turns. One that fails is out, and named; ours that fails ends it. */
export class Arena {
  readonly #contenders: readonly Contender[];
  readonly #options: ArenaOptions;
  readonly #figures = new Map<Contender, number[]>();
  readonly #failures = new Map<Contender, string>();

  constructor(contenders: readonly Contender[], options: ArenaOptions) {
    this.#contenders = contenders;
    this.#options = options;
    for (const contender of contenders) this.#figures.set(contender, []);
  }

  /** Returns how many rounds there were. */
  async play(measureRoofs: () => Promise<void>): Promise<number> {
    const { rounds, limitMs } = this.#options;
    const beganMs = performance.now();
    const total = rounds * this.#contenders.length;
    for (let round = 0; round < rounds; round++) {
      // A round that would end long after the limit is not begun.
      const spentMs = performance.now() - beganMs;
      if (round > 0 && spentMs + spentMs / round > limitMs) return round;
      if (this.#isStopped()) return round;
      await measureRoofs();
      const order = round % 2 === 0 ? this.#contenders : [...this.#contenders].reverse();
      for (const [turn, contender] of order.entries()) {
        this.#options.onTurn(round * order.length + turn, total, contender.name);
        if (!this.#isStopped()) await this.#turn(contender);
      }
    }
    return rounds;
  }

  #isStopped(): boolean {
    return this.#options.stop.aborted;
  }

  /** Once it is known to be far behind, its turns would only take time from the others. */
  #isFarBehind(contender: Contender): boolean {
    const rows = compareSeries(this.series());
    const { name, work, isOurs } = contender;
    if (isOurs) return false;
    const row = rows.find((one) => one.peer === name && one.work === work);
    return row?.verdict === 'peer far behind';
  }

  async #turn(contender: Contender): Promise<void> {
    const figures = this.#figures.get(contender);
    if (this.#failures.has(contender)) return;
    if (this.#isFarBehind(contender)) {
      figures?.push(Number.NaN);
      return;
    }
    try {
      figures?.push(await figureOf(contender));
    } catch (error) {
      if (this.#isStopped() && isTcpxError(error)) return;
      if (contender.isOurs || !isTcpxError(error)) throw error;
      this.#failures.set(contender, error.message);
    }
  }

  series(): Series[] {
    return this.#contenders
      .filter((contender) => !this.#failures.has(contender))
      .map((contender) => {
        const { name, work, isOurs } = contender;
        return { name, work, isOurs, figures: this.#figures.get(contender) ?? [] };
      });
  }

  failures(): { name: string; reason: string }[] {
    return [...this.#failures].map(([{ name }, reason]) => ({ name, reason }));
  }
}

/** Programs print "nan" and "inf" where they have measured nothing. */
async function figureOf(contender: Contender): Promise<number> {
  const { name, work } = contender;
  const { bytesPerSecond, halfTripUs } = await contender.run();
  const figure = work === 'latency' ? halfTripUs : bytesPerSecond;
  if (figure !== undefined && Number.isFinite(figure) && figure > 0) return figure;
  throw new TcpxError('ERR_PEER_REFUSED', `${name}: its figure is ${figure ?? 'missing'}`);
}
