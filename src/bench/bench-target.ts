// The target's role in a benchmark: holds the memory, answers questions, checks what landed.

import { isTcpxError, TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { SETTINGS } from '../base/settings.js';
import type { Engine, PageKind, Region, Session } from '../engine/internal.js';
import { allocateBenchMemory, type BenchMemory } from './bench-memory.js';
import {
  type BenchMessage,
  type BenchReport,
  decodeBenchMessage,
  encodeBenchMessage,
} from './bench-message.js';
import type { HostFacts } from './bench-result.js';
import { type BenchBlock, layOutBlocks } from './block-layout.js';
import { usageOf } from './end-usage.js';
import { lanePausesOf } from './lane-pauses.js';
import { createPingPongEnd, MarkCounter } from './ping-pong.js';
import { PingPongGame, playOut } from './ping-pong-game.js';

export interface BenchTargetOptions {
  readonly engine: () => Engine;
  readonly host: HostFacts;
  readonly log: Log;
  /** GPU of this end, where GPU memory is asked for. */
  readonly gpu: number;
  readonly pages: PageKind;
  /** Initiators that measure at once: each waits for all to be warm. */
  readonly clients: number;
  /** An initiator has finished and hung up. */
  onReport(peer: string, report: BenchReport): void;
  /** All of them have. */
  onFinished(): void;
}

interface Stage {
  readonly memory: BenchMemory;
  readonly region: Region;
  readonly blocks: readonly BenchBlock[];
  /** Where the part begins that the initiator reads. */
  readonly readBase: number;
  /** Of ping-pongs. */
  readonly outboxes: BenchMemory[];
}

const PONG_TIMEOUT_MS = 60_000;
const BLOCKS_MAX = 1 << 22;
/** What an initiator can be asked for. */
const TURNS_MAX = SETTINGS['bench.iterations'].maximum + SETTINGS['bench.warmup'].maximum;

export class BenchTarget {
  readonly #options: BenchTargetOptions;
  readonly #stages = new Map<Session, Stage>();
  readonly #marks = new MarkCounter();
  readonly #warm = new Set<Session>();
  /** The last of those that were asked for: two at once would wait for each other's slices. */
  #game: Promise<void> = Promise.resolve();
  #finished = 0;

  constructor(options: BenchTargetOptions) {
    this.#options = options;
  }

  onSession(session: Session): void {
    void session.closed.then(async () => {
      this.#warm.delete(session);
      const stage = this.#stages.get(session);
      this.#stages.delete(session);
      if (stage === undefined) return;
      await this.#options.engine().deregister(stage.region, 1000);
      for (const memory of [stage.memory, ...stage.outboxes]) memory.free();
    });
  }

  onNotification(session: Session, bytes: Uint8Array): void {
    if (this.#marks.take(bytes)) return;
    try {
      const answer = this.#answer(session, decodeBenchMessage(bytes));
      if (answer !== undefined) this.#tell(session, answer);
    } catch (error) {
      this.#tellFailure(session, error);
    }
  }

  #tellFailure(session: Session, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#options.log.error('benchmark target failed', {
      peer: session.peer,
      code: isTcpxError(error) ? error.code : 'internal',
      reason,
    });
    this.#tell(session, { kind: 'failed', reason });
  }

  /** A session that is ending takes no answer, and its initiator waits for none. */
  #tell(session: Session, message: BenchMessage): void {
    if (session.state === 'ready') session.notify(encodeBenchMessage(message));
  }

  #answer(session: Session, message: BenchMessage): BenchMessage | undefined {
    switch (message.kind) {
      case 'setup':
        return this.#setUp(session, message);
      case 'prepare':
        if (message.isFill) this.#fill(session, message.seed);
        return { kind: 'prepared', ...usageOf(this.#options.engine(), session) };
      case 'check':
        return this.#check(session, message);
      case 'count':
        return {
          kind: 'counted',
          channels: session.kernelCounters(),
          pauses: lanePausesOf(this.#options.engine()),
        };
      case 'pong':
        this.#pong(session, message);
        return undefined;
      case 'begin':
        this.#begin(session);
        return undefined;
      case 'finish':
        // The initiator hangs up first, once it knows that this message has landed.
        void session.closed.then(() => this.#finish(session, message.report));
        return undefined;
      case 'ready':
      case 'prepared':
      case 'checked':
      case 'ponging':
      case 'counted':
      case 'begun':
      case 'failed':
        throw new Error(`${message.kind} is not for a target`);
    }
  }

  #check(session: Session, message: Extract<BenchMessage, { kind: 'check' }>): BenchMessage {
    const usage = usageOf(this.#options.engine(), session);
    const mismatchAt = message.isVerify ? this.#verify(session, message.seed) : -1;
    return { kind: 'checked', ...usage, mismatchAt };
  }

  #begin(session: Session): void {
    this.#warm.add(session);
    if (this.#warm.size < this.#options.clients) return;
    for (const one of this.#warm) this.#tell(one, { kind: 'begun' });
    this.#warm.clear();
  }

  #finish({ peer }: Session, report: BenchReport): void {
    this.#options.onReport(peer, report);
    this.#finished++;
    if (this.#finished === this.#options.clients) this.#options.onFinished();
  }

  #setUp(session: Session, message: Extract<BenchMessage, { kind: 'setup' }>): BenchMessage {
    const { sizeBytes, blockBytes } = message;
    const engine = this.#options.engine();
    this.#checkSetUp(session, sizeBytes, blockBytes);
    const bytes = message.isBoth ? 2 * sizeBytes : sizeBytes;
    const memory = allocateBenchMemory(engine, message.memory, bytes, this.#options);
    const region = engine.register(memory.source);
    const blocks = layOutBlocks(sizeBytes, blockBytes);
    const readBase = message.isBoth ? sizeBytes : 0;
    this.#stages.set(session, { memory, region, blocks, readBase, outboxes: [] });
    return { kind: 'ready', region: region.descriptor, host: this.#options.host };
  }

  // A peer asks for memory here: once, and not without end.
  #checkSetUp(session: Session, sizeBytes: number, blockBytes: number): void {
    const refuse = (rule: string): never => {
      throw new TcpxError('ERR_WIRE_LIMIT', `setup from ${session.peer}: ${rule}`);
    };
    if (this.#stages.has(session)) refuse('it came before');
    const { maximum } = SETTINGS['bench.sizeBytes'];
    if (sizeBytes > maximum) refuse(`${sizeBytes} bytes, at most ${maximum}`);
    const blocks = blockBytes === 0 ? 1 : sizeBytes / blockBytes;
    if (blocks > BLOCKS_MAX) refuse(`${Math.ceil(blocks)} blocks, at most ${BLOCKS_MAX}`);
  }

  #stage(session: Session): Stage {
    const stage = this.#stages.get(session);
    if (stage === undefined) throw new Error('no setup came before');
    return stage;
  }

  #fill(session: Session, seed: number): void {
    const { memory, blocks, readBase } = this.#stage(session);
    for (const { remoteOffset, bytes, localOffset } of blocks) {
      memory.fill(readBase + remoteOffset, bytes, localOffset, seed);
    }
    memory.settle();
  }

  #verify(session: Session, seed: number): number {
    const { memory, blocks } = this.#stage(session);
    for (const { remoteOffset, bytes, localOffset } of blocks) {
      const at = memory.findMismatch(remoteOffset, bytes, localOffset, seed);
      if (at >= 0) return remoteOffset + at;
    }
    return -1;
  }

  #pong(session: Session, message: Extract<BenchMessage, { kind: 'pong' }>): void {
    if (message.count > TURNS_MAX) {
      const rule = `${message.count} turns, at most ${TURNS_MAX}`;
      throw new TcpxError('ERR_WIRE_LIMIT', `pong from ${session.peer}: ${rule}`);
    }
    const stage = this.#stage(session);
    this.#game = this.#game.then(async () => {
      try {
        if (this.#stages.get(session) === stage) await this.#play(session, stage, message);
      } catch (error) {
        this.#tellFailure(session, error);
      }
    });
  }

  async #play(
    session: Session,
    stage: Stage,
    { region, count }: Extract<BenchMessage, { kind: 'pong' }>,
  ): Promise<void> {
    const engine = this.#options.engine();
    const { memory } = stage;
    const allocate = (): BenchMemory => {
      const more = allocateBenchMemory(engine, memory.kind, memory.bytes, this.#options);
      stage.outboxes.push(more);
      return more;
    };
    const end = createPingPongEnd(engine, session, { memory, allocate }, region, this.#marks);
    this.#tell(session, { kind: 'ponging' });
    const rules = { count, isFirst: false, timeoutMs: PONG_TIMEOUT_MS };
    await playOut(new PingPongGame(end, rules), {
      // The memory goes with the session.
      isStopped: () => this.#stages.get(session) !== stage,
      onSlice: () => undefined,
    });
  }
}
