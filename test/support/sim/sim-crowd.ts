// A crowd: many machines with many sessions to one, on the virtual network, without accidents. All
// of them write at once, again and again: who is served when, and whether anybody is forgotten.
// Virtual time counts turns of machines, not the time that a processor takes for them.

import { silentLog } from '../../../src/base/log.js';
import { seededRandom } from '../../../src/base/random.js';
import { SecretBytes } from '../../../src/base/secret-bytes.js';
import type { Identity } from '../../../src/engine/identity.js';
import type { LiveSession } from '../../../src/engine/live-session.js';
import type { Transfer } from '../../../src/engine/transfer.js';
import type { Region } from '../../../src/memory/region.js';
import { createFixedMemory, type FixedMemory } from '../../../src/os/fixed-memory.js';
import { SimNetwork } from './sim-network.js';
import { CHUNK_SCALE, SimNode } from './sim-node.js';
import { hostOf } from './sim-peer-network.js';
import { SimTime } from './sim-time.js';
import { Violation } from './violation.js';

export interface CrowdPlan {
  readonly seed: number;
  readonly senders: number;
  readonly sessionsEach: number;
  /** Writes that each session has to make, one after another. */
  readonly writes: number;
  readonly writeBytes: number;
}

export interface CrowdFigures {
  readonly sessions: number;
  /** Attempts that were refused, and made again. */
  readonly refusals: number;
  readonly openedMs: number;
  readonly writtenMs: number;
  /** Jain's index over what sessions had written when half of everything was. */
  readonly fairness: number;
  /** What the session with the least had then, of the mean. */
  readonly least: number;
}

const CHUNK_BYTES = 2048;
const DELAY_US = 50;
const TURN_US = 20;
const RETRY_US = 4000;
const MICROTASKS = 24;
const HANDSHAKE_MS = 2000;
const LIMIT_MS = 600_000;
const NO_SECRET = new Uint8Array(0);

interface Member {
  readonly node: SimNode;
  readonly memory: FixedMemory;
  readonly region: Region;
  restsUntilUs: number;
}

interface Writer {
  readonly post: () => Transfer;
  transfer: Transfer;
  done: number;
}

export async function runCrowd(plan: CrowdPlan): Promise<CrowdFigures> {
  const crowd = new Crowd(plan);
  try {
    return await crowd.run();
  } finally {
    await crowd.destroy();
  }
}

class Crowd {
  readonly #plan: CrowdPlan;
  readonly #time = new SimTime();
  readonly #random;
  readonly #network: SimNetwork;
  readonly #hub: Member;
  readonly #senders: Member[];
  readonly #sessions: { readonly session: LiveSession; readonly sender: Member }[] = [];
  #refusals = 0;
  #failure: Error | undefined;

  constructor(plan: CrowdPlan) {
    this.#plan = plan;
    this.#random = seededRandom(plan.seed);
    const io = { random: this.#random, callBytesMax: 8000, wholeChance: 0.7, blockChance: 0.05 };
    this.#network = new SimNetwork(this.#time, this.#random, {
      ...{ delayUs: DELAY_US, jitterUs: DELAY_US, pipeBytes: 4096, paths: 1 },
      io: { ...io, isDamaged: () => false },
    });
    this.#hub = this.#start(0, plan.senders * plan.sessionsEach);
    this.#hub.node.listen();
    this.#senders = Array.from({ length: plan.senders }, (_, index) =>
      this.#start(index + 1, plan.sessionsEach),
    );
  }

  #start(index: number, sessions: number): Member {
    const name = `m${index}`;
    const node = new SimNode({
      ...{ name, lanes: 1, time: this.#time, network: this.#network, random: this.#random },
      limits: {
        stallMs: 200,
        reconnectMs: 5000,
        controlTimeoutMs: 60_000,
        progressMs: 60_000,
        minRate: 1,
      },
      ...{ receiveBytes: 64 * 1024, log: silentLog, identity: this.#identityOf(name) },
      rules: {
        time: this.#time,
        isDuplicated: () => false,
        change: () => false,
        onAnswered: () => undefined,
      },
      ...{ chunkBytes: CHUNK_BYTES, fabric: undefined, plugin: undefined },
      peers: sessions,
      onNotification: () => undefined,
      onSession: () => undefined,
      onWake: () => undefined,
    });
    const memory = createFixedMemory(this.#plan.writeBytes);
    const range = { addr: memory.addr, bytes: this.#plan.writeBytes };
    const rights = { read: true, write: true };
    const region = node.core.regions.register(range, rights, {}, false);
    return { node, memory, region, restsUntilUs: 0 };
  }

  #identityOf(name: string): Identity {
    return {
      name,
      generation: Uint8Array.from({ length: 8 }, () => this.#random.nextBetween(0, 255)),
      trust: { secret: new SecretBytes(NO_SECRET), acceptsNetwork: true, name: 'network' },
      wish: {
        ...{ channels: 1, windowChunks: 4, chunkBytes: CHUNK_BYTES * CHUNK_SCALE },
        explicit: 7,
      },
      ...{ local: 'tcp', isChecked: false, timeoutMs: HANDSHAKE_MS },
      offer: {
        ...{ hasTcp: true, hasTcpx: false, isSameHostServed: false },
        hostId: new Uint8Array(16),
      },
    };
  }

  async run(): Promise<CrowdFigures> {
    const startUs = this.#time.nowUs;
    const { sessionsEach, senders } = this.#plan;
    const sessions = senders * sessionsEach;
    for (const sender of this.#senders) void this.#connectAll(sender);
    await this.#until(() => this.#sessions.length === sessions, 'sessions');
    const openedUs = this.#time.nowUs;
    const half = await this.#write();
    const sum = half.reduce((total, bytes) => total + bytes, 0);
    const squares = half.reduce((total, bytes) => total + bytes * bytes, 0);
    return {
      sessions,
      refusals: this.#refusals,
      openedMs: (openedUs - startUs) / 1000,
      writtenMs: (this.#time.nowUs - openedUs) / 1000,
      fairness: sum ** 2 / (half.length * squares),
      least: (Math.min(...half) * half.length) / sum,
    };
  }

  async #connectAll(sender: Member): Promise<void> {
    for (let made = 0; made < this.#plan.sessionsEach; ) {
      try {
        const session = await sender.node.connect(hostOf(this.#hub.node.name, 0));
        this.#sessions.push({ session, sender });
        made++;
      } catch {
        // The hub takes no more handshakes at a time than its setting says.
        this.#refusals++;
        await this.#pause(this.#random.nextBetween(1, RETRY_US));
      }
    }
  }

  #pause(us: number): Promise<void> {
    return new Promise((resolve) => this.#time.after(us, resolve));
  }

  /** Bytes of each session when half of everything had landed; ends when all has. */
  async #write(): Promise<number[]> {
    const { writes, writeBytes } = this.#plan;
    const remote = this.#hub.region.descriptor;
    const writers = this.#sessions.map(({ session, sender }): Writer => {
      const { region: local } = sender;
      const block = { local, localOffset: 0, remote, remoteOffset: 0, bytes: writeBytes };
      const request = session.prepare('write', [block]);
      const post = () => request.post();
      return { post, transfer: post(), done: 0 };
    });
    const total = writers.length * writes;
    let done = 0;
    const advance = (): void => {
      for (const writer of writers) done += this.#advance(writer);
    };
    const isDone = (least: number) => (): boolean => {
      advance();
      return done >= least;
    };
    await this.#until(isDone(total / 2), 'half of the writes');
    const half = writers.map(bytesOf);
    await this.#until(isDone(total), 'writes');
    return half;
  }

  #advance(writer: Writer): number {
    const { transfer } = writer;
    if (writer.done === this.#plan.writes || transfer.status === 'active') return 0;
    if (transfer.status === 'failed') {
      this.#failure = transfer.error ?? new Violation('a write failed');
      return 0;
    }
    writer.done++;
    if (writer.done < this.#plan.writes) writer.transfer = writer.post();
    return 1;
  }

  async #until(isOver: () => boolean, what: string): Promise<void> {
    const endUs = this.#time.nowUs + LIMIT_MS * 1000;
    while (!isOver()) {
      if (this.#failure !== undefined) throw this.#failure;
      if (this.#time.nowUs > endUs) throw new Violation(`not within ${LIMIT_MS} ms: ${what}`);
      await this.#round();
    }
  }

  // The one that all write to has its turn in each round, and so have others that move something;
  // those that do not look again after about as long as a message takes.
  async #round(): Promise<void> {
    this.#time.run();
    const { nowUs } = this.#time;
    step(this.#hub);
    for (const sender of this.#senders) {
      if (sender.restsUntilUs > nowUs) continue;
      if (step(sender) === 0) sender.restsUntilUs = nowUs + DELAY_US;
    }
    for (let turn = 0; turn < MICROTASKS; turn++) await Promise.resolve();
    this.#time.nowUs += TURN_US;
  }

  async destroy(): Promise<void> {
    for (const { node } of [this.#hub, ...this.#senders]) await node.destroy();
    this.#network.destroy();
  }
}

function step({ node }: Member): number {
  return node.lanes.stepInline(0) + node.stepMain();
}

function bytesOf({ transfer, done }: Writer): number {
  const { bytesConfirmed, bytes } = transfer.progress();
  return transfer.status === 'active' ? done * bytes + bytesConfirmed : done * bytes;
}
