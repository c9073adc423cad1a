// The initiator's role: posts, measures, has the target check what landed.

import { assert } from '../base/assert.js';
import { epochMs, systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { SettingValues } from '../base/settings.js';
import type {
  Engine,
  NicIntake,
  Region,
  Session,
  Transfer,
  TransferRequest,
} from '../engine/internal.js';
import { allocateBenchMemory, type BenchMemory } from './bench-memory.js';
import { type BenchDialogue } from './bench-message.js';
import { BenchMeter } from './bench-meter.js';
import type { HostFacts } from './bench-result.js';
import { type BenchRun, nothingMeasured } from './bench-run.js';
import { layOutBlocks } from './block-layout.js';
import { usageOf } from './end-usage.js';
import type { BenchInterval } from './interval-meter.js';
import { type MarkCounter } from './ping-pong.js';
import { playPingPong } from './ping-pong-run.js';
import { countRetransmits } from './retransmits.js';
import type { Turns } from './turns.js';
import { isChecked, SAMPLE_EVERY } from './verify-choice.js';

export interface BenchInitiatorOptions {
  readonly engine: Engine;
  readonly session: Session;
  readonly dialogue: BenchDialogue;
  readonly values: SettingValues;
  /** Counts marks that came as notifications. */
  readonly marks: MarkCounter;
  /** Where others take turns with this one. */
  readonly turns: Turns | undefined;
  /** False where others have their turns on this thread: transfers are awaited then. */
  readonly mayBlock: boolean;
  /** Warm-up is over: what is counted from here on is of the measured iterations. */
  onWarm(): Promise<void>;
  /** Ends the run after the iterations that are under way; what was measured counts. */
  readonly stop: AbortSignal | undefined;
  onProgress(doneFraction: number, bytesPerSecond: number): void;
  onInterval(interval: BenchInterval): void;
}

interface Scene {
  readonly memory: BenchMemory;
  readonly region: Region;
  /** Posted together: one, or one for each direction. */
  readonly requests: readonly TransferRequest[];
  /** Where in the memory the target's bytes land. */
  readonly readBase: number;
  readonly blocks: number;
  readonly prepareUs: number;
  readonly peer: HostFacts;
}

/** Iterations between two looks at the clock and the progress line, where nothing is checked. */
const UNCHECKED_GROUP = 100;
/** Such a group ends after this time as well: over a slow link a hundred may take minutes. */
const GROUP_US = 200_000;
/** Enough of them that a turn is mostly what it measures, few enough that it is short. */
const TURN_GROUP = 5;

/** Of intervals in results, where nobody asked for lines. */
const INTERVAL_S = 1;
/** What one iteration posts together. */
const OPERATIONS = {
  write: ['write'],
  read: ['read'],
  both: ['write', 'read'],
  pingpong: ['write'],
} as const;

interface Posted {
  readonly transfer: Transfer;
  readonly postUs: number;
}

export class BenchInitiator {
  readonly #options: BenchInitiatorOptions;
  readonly #meter: BenchMeter;
  #warmAtMs = 0;
  #isWhole = true;
  #scene: Scene | undefined;
  #initiatorCpuUs = 0;
  #targetCpuUs = 0;
  /** In its turns so far: the time of the others is not its own. */
  #busyUs = 0;
  /** Of the receiving end: before the first measured iteration, after the last. */
  #intakeBefore: readonly NicIntake[] | undefined;
  #intakeAfter: readonly NicIntake[] | undefined;
  #threads: { initiator: string | undefined; target: string | undefined } | undefined;
  readonly #memories: BenchMemory[] = [];

  constructor(options: BenchInitiatorOptions) {
    this.#options = options;
    this.#meter = new BenchMeter({
      seconds: options.values['bench.intervalSeconds'] || INTERVAL_S,
      countRetransmits: () => countRetransmits(options.session),
      onInterval: (interval) => options.onInterval(interval),
    });
  }

  async run(): Promise<BenchRun> {
    const { values, turns } = this.#options;
    assert(turns === undefined || values['bench.op'] !== 'pingpong', 'a ping-pong takes no turns');
    const scene = await this.#setUp();
    this.#scene = scene;
    turns?.arrive();
    if (values['bench.op'] === 'pingpong') await this.#playPingPong(scene);
    else await this.#iterate(scene);
    const run = this.#runOf(scene);
    await turns?.leave();
    return run;
  }

  /** What a run that failed had measured; undefined where that is nothing. */
  soFar(): BenchRun | undefined {
    if (this.#scene === undefined || this.#meter.bytesPerSecond.count === 0) return undefined;
    return { ...this.#runOf(this.#scene), isWhole: false };
  }

  #runOf(scene: Scene): BenchRun {
    return {
      meter: this.#meter,
      intervals: this.#meter.finishIntervals(),
      window: { fromMs: this.#warmAtMs, toMs: epochMs() },
      isWhole: this.#isWhole,
      prepareUs: scene.prepareUs,
      initiatorCpuUs: this.#initiatorCpuUs,
      targetCpuUs: this.#targetCpuUs,
      intakeBefore: this.#intakeBefore,
      intakeAfter: this.#intakeAfter,
      threads: this.#threads,
      peer: scene.peer,
      pages: scene.memory.pages,
      blocks: scene.blocks,
    };
  }

  /** After the engine has closed. */
  freeMemory(): void {
    for (const memory of this.#memories.splice(0)) memory.free();
  }

  #allocate(bytes: number): BenchMemory {
    const { engine, values } = this.#options;
    const { 'bench.memory': kind, 'bench.gpu': gpu, 'bench.pages': pages } = values;
    const memory = allocateBenchMemory(engine, kind, bytes, { gpu, pages });
    this.#memories.push(memory);
    return memory;
  }

  async #setUp(): Promise<Scene> {
    const { engine, session, dialogue, values } = this.#options;
    const sizeBytes = values['bench.sizeBytes'];
    const blockBytes = values['bench.blockBytes'];
    const kind = values['bench.memory'];
    const isBoth = values['bench.op'] === 'both';
    const memory = this.#allocate(isBoth ? 2 * sizeBytes : sizeBytes);
    const question = { kind: 'setup', sizeBytes, blockBytes, memory: kind, isBoth } as const;
    const ready = await dialogue.ask(question, 'ready', values['bench.deadlineMs']);
    const region = engine.register(memory.source, { read: false, write: true });
    const blocks = layOutBlocks(sizeBytes, blockBytes);
    const readBase = isBoth ? sizeBytes : 0;
    const startUs = systemClock.nowUs();
    const requests = OPERATIONS[values['bench.op']].map((operation) => {
      const base = operation === 'read' ? readBase : 0;
      return session.prepare(
        operation,
        blocks.map(({ localOffset, remoteOffset, bytes }) => ({
          local: region,
          localOffset: base + localOffset,
          remote: ready.region,
          remoteOffset: base + remoteOffset,
          bytes,
        })),
      );
    });
    const prepareUs = (systemClock.nowUs() - startUs) / requests.length;
    const facts = { blocks: blocks.length, prepareUs, peer: ready.host };
    return { memory, region, requests, readBase, ...facts };
  }

  async #iterate(scene: Scene): Promise<void> {
    const { values, stop } = this.#options;
    const first = await this.#warmUp(scene);
    await this.#becomeWarm();
    const startUs = systemClock.nowUs();
    this.#meter.startIntervals();
    const limitUs = values['bench.seconds'] * 1e6;
    const end = limitUs > 0 ? Number.POSITIVE_INFINITY : first + values['bench.iterations'];
    for (let index = first; index < end; ) {
      index = await this.#takeTurn(scene, index, end, true);
      const elapsedUs = systemClock.nowUs() - startUs;
      if (limitUs > 0 && elapsedUs >= limitUs) break;
      const fraction = limitUs > 0 ? elapsedUs / limitUs : (index - first) / (end - first);
      this.#options.onProgress(fraction, this.#meter.lastRate);
      this.#isWhole = fraction >= 1 || stop?.aborted !== true;
      if (!this.#isWhole) break;
    }
  }

  async #becomeWarm(): Promise<void> {
    await this.#options.onWarm();
    this.#warmAtMs = epochMs();
  }

  // Returns the index of the first iteration to measure.
  async #warmUp(scene: Scene): Promise<number> {
    const { values } = this.#options;
    const count = values['bench.warmup'];
    const limitUs = values['bench.warmupSeconds'] * 1e6;
    let index = 0;
    while (index < count || this.#busyUs < limitUs) {
      if (this.#options.stop?.aborted === true) {
        throw nothingMeasured();
      }
      const end = index < count ? count : Number.POSITIVE_INFINITY;
      index = await this.#takeTurn(scene, index, end, false);
    }
    return index;
  }

  async #takeTurn(scene: Scene, first: number, end: number, isMeasured: boolean) {
    const { turns } = this.#options;
    const endTurn = await turns?.take();
    const startUs = systemClock.nowUs();
    try {
      // Wakes what fell asleep while others had theirs.
      if (turns !== undefined) await this.#transfer(scene.requests, false);
      return await this.#iterateGroup(scene, first, end, isMeasured);
    } finally {
      this.#busyUs += systemClock.nowUs() - startUs;
      endTurn?.();
    }
  }

  // Iterations up to the next verified one, back to back; returns the index after them. Fill and
  // check lie outside the timed and CPU-counted window.
  async #iterateGroup(scene: Scene, first: number, end: number, isMeasured: boolean) {
    const { dialogue, values } = this.#options;
    const timeoutMs = values['bench.deadlineMs'];
    const isRead = values['bench.op'] === 'read';
    const isBoth = values['bench.op'] === 'both';
    const last = Math.min(end, first + this.#groupSize(first)) - 1;
    const isVerified = isChecked(values['bench.verify'], last, isMeasured && last === end - 1);
    const seed = last + 1;
    if (!isRead && isVerified) {
      scene.memory.fill(0, values['bench.sizeBytes'], 0, seed);
      scene.memory.settle();
    }
    const isFill = (isRead || isBoth) && isVerified;
    const prepared = await dialogue.ask({ kind: 'prepare', seed, isFill }, 'prepared', timeoutMs);
    const before = this.#usage();
    const mayStop = !isVerified && this.#options.turns === undefined;
    const next = await this.#transferGroup(scene.requests, first, last, isMeasured, mayStop);
    const after = this.#usage();
    const isVerify = !isRead && isVerified;
    const checked = await dialogue.ask({ kind: 'check', seed, isVerify }, 'checked', timeoutMs);
    if (isVerified) {
      const own = isFill ? this.#findMismatch(scene, seed) : -1;
      this.#meter.countVerified(own >= 0 ? own : checked.mismatchAt);
    }
    this.#intakeAfter = (isRead ? after : checked).intake;
    this.#threads = { initiator: after.threads, target: checked.threads };
    if (isMeasured) {
      this.#intakeBefore ??= (isRead ? before : prepared).intake;
      this.#initiatorCpuUs += after.cpuUs - before.cpuUs;
      this.#targetCpuUs += checked.cpuUs - prepared.cpuUs;
    }
    return next;
  }

  #findMismatch({ memory, readBase }: Scene, seed: number): number {
    return memory.findMismatch(readBase, this.#options.values['bench.sizeBytes'], 0, seed);
  }

  #usage() {
    return usageOf(this.#options.engine, this.#options.session);
  }

  // Back to back; returns the index after those that were made.
  async #transferGroup(
    requests: readonly TransferRequest[],
    first: number,
    last: number,
    isMeasured: boolean,
    mayStop: boolean,
  ): Promise<number> {
    const untilUs = mayStop ? systemClock.nowUs() + GROUP_US : Number.POSITIVE_INFINITY;
    let next = first;
    do {
      const moving = this.#transfer(requests, isMeasured);
      if (moving !== undefined) await moving;
      next++;
    } while (next <= last && systemClock.nowUs() < untilUs);
    return next;
  }

  /** Iterations that run without a word in between: none are, where every one is checked. */
  #groupSize(first: number): number {
    switch (this.#options.values['bench.verify']) {
      case 'all':
        return 1;
      case 'sample':
        return SAMPLE_EVERY - (first % SAMPLE_EVERY);
      case 'none':
        return this.#options.turns === undefined ? UNCHECKED_GROUP : TURN_GROUP;
    }
  }

  // The thread blocks until lanes are done; ends of plugin processes come by the event loop alone.
  #transfer(requests: readonly TransferRequest[], isMeasured: boolean): Promise<void> | undefined {
    const startUs = systemClock.nowUs();
    const posted = this.#post(requests);
    if (this.#options.session.provider === 'tcp' && this.#options.mayBlock) {
      for (const { transfer } of posted) this.#wait(transfer);
      if (isMeasured) this.#count(posted, startUs);
      return undefined;
    }
    return Promise.all(posted.map(({ transfer }) => transfer.done)).then(() => {
      if (isMeasured) this.#count(posted, startUs);
    });
  }

  #count(posted: readonly Posted[], startUs: number): void {
    const nowUs = systemClock.nowUs();
    const bytes = this.#options.values['bench.sizeBytes'] * posted.length;
    this.#meter.countIteration(bytes, nowUs - startUs, nowUs);
    for (const { transfer, postUs } of posted) this.#meter.countTransfer(transfer, postUs);
    this.#meter.receipt = posted[0]?.transfer.receipt();
  }

  #post(requests: readonly TransferRequest[]): Posted[] {
    const { values } = this.#options;
    const isAwaited = this.#options.session.provider === 'tcpx' || !this.#options.mayBlock;
    const options = isAwaited ? { deadlineMs: values['bench.deadlineMs'] } : undefined;
    const posted: Posted[] = [];
    for (let index = 0; index < values['bench.batch']; index++) {
      for (const request of requests) {
        const startUs = systemClock.nowUs();
        const transfer = request.post(options);
        posted.push({ transfer, postUs: systemClock.nowUs() - startUs });
      }
    }
    return posted;
  }

  #wait(transfer: Transfer): void {
    const { values, session } = this.#options;
    const status = transfer.wait(values['bench.deadlineMs']);
    if (transfer.error !== undefined) throw transfer.error;
    if (status !== 'active') return;
    const { operation } = transfer.receipt();
    throw new TcpxError(
      'ERR_XFER_DEADLINE',
      `${session.peer}: ${operation} not confirmed in ${values['bench.deadlineMs']} ms`,
    );
  }

  async #playPingPong({ memory, region, requests }: Scene): Promise<void> {
    const remote = requests[0]?.blocks.remotes[0];
    if (remote === undefined) throw new TcpxError('ERR_USAGE_STATE', 'no remote region');
    const allocate = () => this.#allocate(memory.bytes);
    const { isWhole, cpuUs, intake } = await playPingPong({
      ...this.#options,
      ...{ meter: this.#meter, memory, region, remote, allocate },
      onWarm: () => this.#becomeWarm(),
    });
    this.#isWhole = isWhole;
    this.#initiatorCpuUs = cpuUs.initiator;
    this.#targetCpuUs = cpuUs.target;
    this.#intakeBefore = intake.before;
    this.#intakeAfter = intake.after;
  }
}
