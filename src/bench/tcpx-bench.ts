// A benchmark of the tcpx provider from connect to result: posts, measures, has the target check
// what landed, and compares the NICs' device-memory counters with what is claimed.

import { systemClock } from '../base/clock.js';
import { TcpxError } from '../base/errors.js';
import type { SettingValues } from '../base/settings.js';
import type { Block, Region } from '../engine/internal.js';
import { TcpxProvider } from '../engine/tcpx/tcpx-provider.js';
import { describeThreads, type TcpxReceipt } from '../engine/tcpx/tcpx-receipt.js';
import type { TcpxPeerSession } from '../engine/tcpx/tcpx-session.js';
import type { BenchResult, HostFacts } from './bench-result.js';
import { percentilesOf, rateSpreadOf } from './statistics.js';
import type { BenchMemory } from './bench-memory.js';
import { benchRails } from './bench-rails.js';
import { BenchDialogue, decodeBenchMessage, encodeBenchMessage } from './bench-message.js';
import { type BenchSessionOptions, visibleConfig } from './bench-session.js';
import { layOutBlocks } from './block-layout.js';
import { judgeDevmem, type NicIntake, readIntake } from './devmem-counters.js';
import { readHostFacts } from './host-facts.js';
import { cpuWithChildrenUs } from './process-cpu.js';
import { allocateTcpxMemory } from './tcpx-memory.js';
import { MarkListener, playTcpxPingPong } from './tcpx-ping-pong.js';
import { isChecked } from './verify-choice.js';

export async function runTcpxBench(options: BenchSessionOptions): Promise<BenchResult> {
  const { config, log } = options;
  let dialogue: BenchDialogue | undefined;
  const marks = new MarkListener();
  const provider = await TcpxProvider.open({
    name: 'bench-initiator',
    config,
    log,
    rails: benchRails(config),
    onNotification: (_, bytes) => {
      if (!marks.take(bytes)) dialogue?.receive(decodeBenchMessage(bytes));
    },
  });
  try {
    const session = await provider.connect(options.host, options.port);
    const talk = new BenchDialogue((message) => session.notify(encodeBenchMessage(message)));
    dialogue = talk;
    // A question to a peer that has gone is not waited for.
    void session.closed.then((error) => {
      talk.fail(error);
      marks.fail(error);
    });
    const bench = new TcpxBench({ provider, session, dialogue: talk, marks }, config.values);
    await bench.run((fraction, rate) => options.onProgress(fraction, rate));
    session.notify(encodeBenchMessage({ kind: 'finish' }));
    return bench.result(visibleConfig(config));
  } finally {
    await provider.close();
  }
}

interface BenchEnds {
  readonly provider: TcpxProvider;
  readonly session: TcpxPeerSession;
  readonly dialogue: BenchDialogue;
  readonly marks: MarkListener;
}

interface Scene {
  readonly memory: BenchMemory;
  readonly region: Region;
  readonly blocks: readonly Block[];
  readonly peer: HostFacts;
}

class TcpxBench {
  readonly #provider: TcpxProvider;
  readonly #session: TcpxPeerSession;
  readonly #dialogue: BenchDialogue;
  readonly #marks: MarkListener;
  readonly #values: SettingValues;
  readonly #rates: number[] = [];
  readonly #latencies: number[] = [];
  readonly #cpuUs = { initiator: 0, target: 0 };
  readonly #verified = { iterations: 0, mismatches: 0 };
  /** Of the receiving end: before the first measured iteration, after the last. */
  #intakeBefore: readonly NicIntake[] | undefined;
  #intakeAfter: readonly NicIntake[] = [];
  #receipt: TcpxReceipt | undefined;
  #peer: HostFacts | undefined;
  #targetThreads = 'unseen';

  constructor(ends: BenchEnds, values: SettingValues) {
    this.#provider = ends.provider;
    this.#session = ends.session;
    this.#dialogue = ends.dialogue;
    this.#marks = ends.marks;
    this.#values = values;
  }

  async run(onProgress: (fraction: number, bytesPerSecond: number) => void): Promise<void> {
    const scene = await this.#setUp();
    this.#peer = scene.peer;
    if (this.#values['bench.op'] === 'pingpong') {
      await this.#playPingPong(scene);
      return;
    }
    const first = await this.#warmUp(scene);
    const limitUs = this.#values['bench.seconds'] * 1e6;
    const end = first + (limitUs > 0 ? Number.POSITIVE_INFINITY : this.#values['bench.iterations']);
    const startUs = systemClock.nowUs();
    for (let index = first; index < end; index++) {
      await this.#iterate(scene, index, true, index === end - 1);
      const elapsedUs = systemClock.nowUs() - startUs;
      if (limitUs > 0 && elapsedUs >= limitUs) return;
      const done = limitUs > 0 ? elapsedUs / limitUs : (index - first + 1) / (end - first);
      onProgress(done, this.#rates.at(-1) ?? 0);
    }
  }

  // Returns the index of the first iteration to measure.
  async #warmUp(scene: Scene): Promise<number> {
    const count = this.#values['bench.warmup'];
    const untilUs = systemClock.nowUs() + this.#values['bench.warmupSeconds'] * 1e6;
    let index = 0;
    while (index < count || systemClock.nowUs() < untilUs) {
      await this.#iterate(scene, index, false, false);
      index++;
    }
    return index;
  }

  result(config: BenchResult['config']): BenchResult {
    const values = this.#values;
    const bytesMoved = this.#latencies.length * values['bench.sizeBytes'];
    const gigabytes = bytesMoved / 1e9;
    const isHostRecv = values['tcpx.hostRecv'];
    const devmem = judgeDevmem(this.#intakeBefore ?? [], this.#intakeAfter, isHostRecv);
    const host = readHostFacts(values['socket.congestion']);
    return {
      schema: 'tcpx.bench/1',
      ok: this.#verified.mismatches === 0 && devmem.verdict !== 'failed',
      evidence: this.#receipt?.evidence ?? 'emulated',
      provider: 'tcpx',
      path: this.#receipt?.path ?? 'tcpx',
      op: values['bench.op'],
      memory: values['bench.memory'],
      progress: `processes ${values['tcpx.processes']}`,
      sizeBytes: values['bench.sizeBytes'],
      blockBytes: values['bench.blockBytes'] || values['bench.sizeBytes'],
      chunkBytes: values['flow.chunkBytes'],
      channels: this.#receipt?.channels.length ?? 0,
      lanes: this.#provider.rails.starts,
      iterations: this.#rates.length,
      bandwidthGBps: rateSpreadOf(this.#rates.map((rate) => rate / 1e9)),
      latencyUs: percentilesOf(this.#latencies),
      cpuSecondsPerGB: {
        initiator: this.#cpuUs.initiator / 1e6 / gigabytes,
        target: this.#cpuUs.target / 1e6 / gigabytes,
      },
      verified: this.#verified,
      devmem,
      threads: {
        initiator: describeThreads(this.#receipt?.threads ?? []),
        target: this.#targetThreads,
      },
      receipt: this.#receipt,
      laneCpus: [],
      zeroCopy: [],
      config,
      host,
      peer: this.#peer ?? host,
    };
  }

  async #setUp(): Promise<Scene> {
    const sizeBytes = this.#values['bench.sizeBytes'];
    const blockBytes = this.#values['bench.blockBytes'];
    const kind = this.#values['bench.memory'];
    const gpu = this.#values['bench.gpu'];
    // First: what is not here need not be asked of the peer.
    const own = allocateTcpxMemory(this.#provider, kind, sizeBytes, gpu);
    const { memory } = own;
    const question = { kind: 'setup', sizeBytes, blockBytes, memory: kind } as const;
    const ready = await this.#dialogue.ask(question, 'ready', this.#timeoutMs);
    const rights = { read: false, write: true };
    const region = await this.#provider.register(own.registrable, rights);
    const blocks = layOutBlocks(sizeBytes, blockBytes).map((block) => ({
      ...block,
      local: region,
      remote: ready.region,
    }));
    return { memory, region, blocks, peer: ready.host };
  }

  get #timeoutMs(): number {
    return this.#values['bench.deadlineMs'];
  }

  // Fill and check lie outside the timed and CPU-counted window.
  async #iterate(scene: Scene, index: number, isMeasured: boolean, isLast: boolean): Promise<void> {
    const isRead = this.#values['bench.op'] === 'read';
    const isVerified = isChecked(this.#values['bench.verify'], index, isLast);
    const seed = index + 1;
    const { memory } = scene;
    if (!isRead && isVerified) memory.fill(0, memory.bytes, 0, seed);
    memory.settle();
    const prepare = { kind: 'prepare', seed, isFill: isRead && isVerified } as const;
    const prepared = await this.#dialogue.ask(prepare, 'prepared', this.#timeoutMs);
    const pids = await this.#provider.rails.pids();
    const cpuUs = cpuWithChildrenUs(pids);
    const ownBefore = this.#ownIntake();
    await this.#transfer(scene.blocks, isMeasured);
    const ownCpuUs = cpuWithChildrenUs(pids) - cpuUs;
    const check = { kind: 'check', seed, isVerify: !isRead && isVerified } as const;
    const checked = await this.#dialogue.ask(check, 'checked', this.#timeoutMs);
    if (isVerified) {
      const at = isRead ? memory.findMismatch(0, memory.bytes, 0, seed) : checked.mismatchAt;
      this.#verified.iterations++;
      if (at >= 0) this.#verified.mismatches++;
    }
    if (isMeasured) this.#intakeBefore ??= isRead ? ownBefore : (prepared.intake ?? []);
    this.#targetThreads = checked.threads ?? 'unseen';
    this.#intakeAfter = isRead ? this.#ownIntake() : (checked.intake ?? []);
    if (!isMeasured) return;
    this.#cpuUs.initiator += ownCpuUs;
    this.#cpuUs.target += checked.cpuUs - prepared.cpuUs;
  }

  // What comes back is what went out, from memory of its own, so that it can be checked.
  async #playPingPong({ region, memory, blocks }: Scene): Promise<void> {
    const bytes = this.#values['bench.sizeBytes'];
    const warmup = this.#values['bench.warmup'];
    const count = warmup + this.#values['bench.iterations'];
    const { 'bench.memory': kind, 'bench.gpu': gpu } = this.#values;
    const outbox = allocateTcpxMemory(this.#provider, kind, bytes, gpu);
    const rights = { read: false, write: false };
    const local = await this.#provider.register(outbox.registrable, rights);
    outbox.memory.fill(0, bytes, 0, count);
    outbox.memory.settle();
    const remote = blocks[0]?.remote;
    if (remote === undefined) throw new TcpxError('ERR_USAGE_STATE', 'no remote region');
    const question = { kind: 'pong', region: region.descriptor, count, bytes } as const;
    await this.#dialogue.ask(question, 'ponging', this.#timeoutMs);
    this.#intakeBefore = this.#ownIntake();
    const { halfTripsUs, receipt } = await playTcpxPingPong({
      session: this.#session,
      marks: this.#marks,
      block: { local, localOffset: 0, remote, remoteOffset: 0, bytes },
      count,
      timeoutMs: this.#timeoutMs,
    });
    this.#intakeAfter = this.#ownIntake();
    this.#receipt = receipt;
    for (const halfTripUs of halfTripsUs.slice(warmup)) {
      this.#latencies.push(halfTripUs);
      this.#rates.push((bytes / halfTripUs) * 1e6);
    }
    if (this.#values['bench.verify'] === 'none') return;
    this.#verified.iterations = 1;
    if (memory.findMismatch(0, bytes, 0, count) >= 0) this.#verified.mismatches = 1;
  }

  #ownIntake(): NicIntake[] {
    const { rails } = this.#provider;
    return readIntake(rails.receivedBytes(), rails.facts.isEmulated);
  }

  async #transfer(blocks: readonly Block[], isMeasured: boolean): Promise<void> {
    const count = this.#values['bench.batch'];
    const options = { deadlineMs: this.#timeoutMs };
    const startUs = systemClock.nowUs();
    const transfers = Array.from({ length: count }, () =>
      this.#values['bench.op'] === 'read'
        ? this.#session.read(blocks, options)
        : this.#session.write(blocks, options),
    );
    const receipts = await Promise.all(transfers.map(({ done }) => done));
    const durationUs = systemClock.nowUs() - startUs;
    this.#receipt = receipts[0];
    if (!isMeasured) return;
    this.#rates.push((this.#values['bench.sizeBytes'] * count * 1e6) / durationUs);
    for (const receipt of receipts) this.#latencies.push(receipt.durationUs);
  }
}
