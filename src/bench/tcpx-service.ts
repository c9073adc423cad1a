// A tcpx provider that plays the target of a benchmark for whoever connects.

import { isTcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { TcpxProvider } from '../engine/tcpx/tcpx-provider.js';
import { describeThreads } from '../engine/tcpx/tcpx-receipt.js';
import type { TcpxPeerSession } from '../engine/tcpx/tcpx-session.js';
import type { Region } from '../engine/internal.js';
import type { BenchMemory } from './bench-memory.js';
import { benchRails } from './bench-rails.js';
import { type BenchMessage, decodeBenchMessage, encodeBenchMessage } from './bench-message.js';
import type { BenchService, BenchServiceOptions } from './bench-service.js';
import { type BenchBlock, layOutBlocks } from './block-layout.js';
import { readIntake } from './devmem-counters.js';
import { readHostFacts } from './host-facts.js';
import { isMark } from './ping-pong.js';
import { cpuWithChildrenUs } from './process-cpu.js';
import { allocateTcpxMemory } from './tcpx-memory.js';
import { Ponger } from './tcpx-ping-pong.js';

interface Stage {
  readonly memory: BenchMemory;
  readonly region: Region;
  readonly blocks: readonly BenchBlock[];
}

export async function openTcpxBenchService(options: BenchServiceOptions): Promise<BenchService> {
  const { config, log } = options;
  let finish: () => void = () => undefined;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const provider: TcpxProvider = await TcpxProvider.open({
    name: 'bench-target',
    config,
    log,
    rails: benchRails(config),
    onNotification: (session, bytes) => {
      if (!isMark(bytes)) void target.onMessage(session, decodeBenchMessage(bytes));
      else target.onMark(session);
    },
  });
  const target = new TcpxBenchTarget(provider, log, () => finish());
  try {
    const port = provider.listen(options.port === undefined ? {} : { port: options.port });
    return { port, finished, close: () => provider.close() };
  } catch (error) {
    await provider.close();
    throw error;
  }
}

class TcpxBenchTarget {
  readonly #provider: TcpxProvider;
  readonly #log: Log;
  readonly #onFinished: () => void;
  readonly #stages = new Map<TcpxPeerSession, Stage>();
  readonly #pongers = new Map<TcpxPeerSession, Ponger>();

  constructor(provider: TcpxProvider, log: Log, onFinished: () => void) {
    this.#provider = provider;
    this.#log = log;
    this.#onFinished = onFinished;
  }

  async onMessage(session: TcpxPeerSession, message: BenchMessage): Promise<void> {
    try {
      const answer = await this.#answer(session, message);
      if (answer !== undefined) session.notify(encodeBenchMessage(answer));
    } catch (error) {
      this.#fail(session, error);
    }
  }

  /** A ping has landed. */
  onMark(session: TcpxPeerSession): void {
    this.#pongers.get(session)?.pong();
  }

  #fail(session: TcpxPeerSession, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const code = isTcpxError(error) ? error.code : 'internal';
    this.#log.error('benchmark target failed', { peer: session.peer, code, reason });
    session.notify(encodeBenchMessage({ kind: 'failed', reason }));
  }

  async #answer(
    session: TcpxPeerSession,
    message: BenchMessage,
  ): Promise<BenchMessage | undefined> {
    switch (message.kind) {
      case 'setup':
        return await this.#setUp(session, message);
      case 'prepare':
        if (message.isFill) this.#fill(session, message.seed);
        return { kind: 'prepared', ...(await this.#usage()) };
      case 'check': {
        const usage = await this.#usage();
        const mismatchAt = message.isVerify ? this.#verify(session, message.seed) : -1;
        const threads = describeThreads(session.channels.set.placements());
        return { kind: 'checked', mismatchAt, threads, ...usage };
      }
      case 'pong': {
        const { region } = this.#stage(session);
        const onFailure = (error: unknown): void => this.#fail(session, error);
        const ponger = new Ponger(session, region, message.region, message.bytes, onFailure);
        this.#pongers.set(session, ponger);
        return { kind: 'ponging' };
      }
      case 'finish':
        this.#onFinished();
        return undefined;
      case 'ready':
      case 'prepared':
      case 'checked':
      case 'ponging':
      case 'count':
      case 'counted':
      case 'failed':
        throw new Error(`${message.kind} is not for a tcpx target`);
    }
  }

  async #usage() {
    const { rails } = this.#provider;
    return {
      cpuUs: cpuWithChildrenUs(await rails.pids()),
      intake: readIntake(rails.receivedBytes(), rails.facts.isEmulated),
    };
  }

  async #setUp(
    session: TcpxPeerSession,
    wish: Extract<BenchMessage, { kind: 'setup' }>,
  ): Promise<BenchMessage> {
    const gpu = this.#provider.config.values['bench.gpu'];
    const { sizeBytes, blockBytes } = wish;
    const own = allocateTcpxMemory(this.#provider, wish.memory, sizeBytes, gpu);
    const region = await this.#provider.register(own.registrable);
    const blocks = layOutBlocks(sizeBytes, blockBytes);
    this.#stages.set(session, { memory: own.memory, region, blocks });
    const host = readHostFacts(this.#provider.config.values['socket.congestion']);
    return { kind: 'ready', region: region.descriptor, host };
  }

  #stage(session: TcpxPeerSession): Stage {
    const stage = this.#stages.get(session);
    if (stage === undefined) throw new Error('no setup came before');
    return stage;
  }

  #fill(session: TcpxPeerSession, seed: number): void {
    const { memory, blocks } = this.#stage(session);
    for (const { remoteOffset, localOffset, bytes } of blocks) {
      memory.fill(remoteOffset, bytes, localOffset, seed);
    }
    memory.settle();
  }

  #verify(session: TcpxPeerSession, seed: number): number {
    const { memory, blocks } = this.#stage(session);
    for (const { remoteOffset, localOffset, bytes } of blocks) {
      const at = memory.findMismatch(remoteOffset, bytes, localOffset, seed);
      if (at >= 0) return remoteOffset + at;
    }
    return -1;
  }
}
