// Machines, network, programs and time together, moved round by round in an order that the seed
// decides. Time passes in small steps while something moves, and jumps to what comes next when not.

import type { Log, LogFields } from '../../../src/base/log.js';
import { type Random, seededRandom } from '../../../src/base/random.js';
import { SecretBytes } from '../../../src/base/secret-bytes.js';
import { type Wish, wishAmid } from '../../../src/engine/agreement.js';
import type { Identity } from '../../../src/engine/identity.js';
import type { ProviderName } from '../../../src/provider/receipt.js';
import type { ControlRules } from './sim-control.js';
import { SimFabric } from './sim-fabric.js';
import { checkCredits, checkWindows } from './sim-invariants.js';
import type { Machine } from './sim-job.js';
import { SimMemory } from './sim-memory.js';
import { SimNetwork } from './sim-network.js';
import { CHUNK_SCALE, SimNode } from './sim-node.js';
import type { SimPlan } from './sim-plan.js';
import { SessionMaker, type SessionPair } from './sim-session.js';
import { Strangers } from './sim-strangers.js';
import { SimTime } from './sim-time.js';
import { type Place, SimWork } from './sim-work.js';
import { Violation } from './violation.js';

/** Health is looked at every 50 ms: time never jumps further than a part of that. */
const IDLE_US = 20_000;
/** Turns of the microtask queue that a chain of awaits takes at most between two virtual waits. */
const MICROTASKS = 24;
/** Rounds that follow one in which something that was awaited has come. */
const AWAKE_ROUNDS = 3;
const HANDSHAKE_MS = 2000;
/** How much rarer damage hits a head than a payload: each time a channel ends. */
const HEAD_SHARE = 0.05;

/** A session and what has happened to it. */
export interface SimLink {
  readonly pair: SessionPair;
  readonly client: Machine;
  readonly server: Machine;
  /** An accident that may cost a channel has touched it. */
  isDisturbed: boolean;
  /** What happened may cost the session. */
  mayBeLost: boolean;
  disturbedUs: number;
}

const NO_SECRET = new Uint8Array(0);

export class SimWorld {
  readonly plan: SimPlan;
  readonly random: Random;
  readonly time = new SimTime();
  readonly network: SimNetwork;
  readonly maker: SessionMaker;
  readonly fabric: SimFabric | undefined;
  readonly work: SimWork;
  readonly machines: Machine[] = [];
  readonly graveyard: Machine[] = [];
  readonly links: SimLink[] = [];
  /** Changes a machine on purpose, to see that the run notices. */
  readonly #mutate: ((machine: Machine) => void) | undefined;
  readonly strangers: Strangers;
  readonly #rules: ControlRules;
  /** Frames of greetings may be changed on their way. */
  isTampered = false;
  #awakeUntil = 0;
  readonly #trace: ((line: string) => void) | undefined;
  rounds = 0;
  /** Attempts to connect that have failed. */
  refusals = 0;

  constructor(
    plan: SimPlan,
    mutate: ((machine: Machine) => void) | undefined,
    trace: ((line: string) => void) | undefined,
  ) {
    this.plan = plan;
    this.#mutate = mutate;
    this.#trace = trace;
    this.random = seededRandom(plan.seed);
    const { random } = this;
    // A damaged payload goes again; a damaged head, table or message costs the connection, and a
    // session that is being made: so not before there are sessions.
    const isDamaged = (addr: number): boolean =>
      plan.flipChance > 0 &&
      this.isTampered &&
      random.nextChance(this.#isPayload(addr) ? plan.flipChance : plan.flipChance * HEAD_SHARE);
    const io = { ...plan, random, isDamaged };
    this.network = new SimNetwork(this.time, random, { ...plan, io });
    this.maker = new SessionMaker({
      time: this.time,
      network: this.network,
      onPair: (pair, isAmidFaults) => this.#onPair(pair, isAmidFaults),
      onRefused: (client, server, reason) => this.#onRefused(client, server, reason),
    });
    this.fabric =
      plan.plugin &&
      new SimFabric(this.time, random, this.network, plan.plugin, (error) =>
        this.maker.fail(error),
      );
    this.strangers = new Strangers(this.network, random, (error) => this.maker.fail(error));
    this.#rules = {
      time: this.time,
      isDuplicated: () => random.nextChance(plan.duplicateChance),
      change: (frame) => this.#change(frame),
      onAnswered: (control, sent, answer) => this.strangers.record(control, sent, answer),
    };
    this.work = new SimWork(random, plan.work, () => this.time.nowUs);
    for (let index = 0; index < plan.machines; index++) this.start(`m${index}`);
  }

  note(text: string): void {
    this.#trace?.(`${(this.time.nowUs / 1000).toFixed(3)} ${text}`);
  }

  /** A machine starts, with new memory and without any session. */
  start(name: string): Machine {
    const { time, network, random, plan } = this;
    const plugged = this.#isPlain(name) ? undefined : plan.plugin;
    const node: SimNode = new SimNode({
      name,
      lanes: plan.lanes,
      time,
      network,
      random,
      limits: plan.limits,
      receiveBytes: plan.receiveBytes,
      log: this.#logOf(name),
      onNotification: (notification) => this.work.onNotification(machine, notification),
      identity: this.#identityOf(name),
      rules: this.#rules,
      chunkBytes: plan.chunkBytes,
      fabric: plugged && this.fabric,
      plugin: plugged,
      onSession: (session) => this.maker.onCreated(machine, session),
      onWake: () => {
        this.#awakeUntil = this.rounds + AWAKE_ROUNDS;
      },
    });
    const plugin = node.plugin && {
      plugin: node.plugin,
      stagedChance: plugged?.stagedChance ?? 0,
    };
    const memory = new SimMemory(name, node.core.regions, random, plugin);
    const machine: Machine = { name, node, memory };
    // Somebody may still hold what the process before this one had given out.
    for (const old of this.graveyard.filter((one) => one.name === name)) {
      machine.memory.stale.push(...old.memory.regions.map(({ descriptor }) => descriptor));
    }
    this.machines.push(machine);
    this.#mutate?.(machine);
    node.listen();
    return machine;
  }

  #isPlain(name: string): boolean {
    return this.plan.variety?.plain === name;
  }

  /** The provider that both can agree on; undefined where one insists on what the other lacks. */
  providerOf(one: string, other: string): ProviderName | undefined {
    const { plugin } = this.plan;
    if (plugin === undefined) return 'tcp';
    if (!this.#isPlain(one) && !this.#isPlain(other)) return 'tcpx';
    return plugin.isFirm ? undefined : 'tcp';
  }

  // Both ends have the same settings; which of them are firm, and what else they offer, differs.
  #identityOf(name: string): Identity {
    const { random, plan } = this;
    const isPlain = this.#isPlain(name);
    const { channels, windowChunks, chunkBytes } = plan;
    const wish = { channels, windowChunks, chunkBytes: chunkBytes * CHUNK_SCALE };
    const secret = plan.hasSecret ? new TextEncoder().encode('the secret of a run') : NO_SECRET;
    return {
      name,
      generation: Uint8Array.from({ length: 8 }, () => random.nextBetween(0, 255)),
      trust: {
        secret: new SecretBytes(secret),
        acceptsNetwork: true,
        name: plan.hasSecret ? 'secret' : 'network',
      },
      wish: this.#late({ ...wish, explicit: random.nextBetween(0, 7) }),
      local: 'tcp',
      // What one end wants the other does too.
      isChecked: plan.isChecked,
      offer: {
        hasTcp: plan.plugin?.isFirm !== true || isPlain,
        hasTcpx: (random.nextChance(0.7) || plan.plugin !== undefined) && !isPlain,
        // Without a plugin on one host, where none serves: tcp it is, for one reason or another.
        isSameHostServed: false,
        hostId: new Uint8Array(16).fill(plan.plugin === undefined ? 0 : Number(name.slice(1)) + 1),
      },
      timeoutMs: HANDSHAKE_MS,
    };
  }

  /** Some begin with one channel, as in an engine of many sessions. */
  #late(wish: Wish): Wish {
    return this.random.nextChance(0.5) ? wishAmid(wish, Number.POSITIVE_INFINITY) : wish;
  }

  #change(frame: Uint8Array): boolean {
    const { random, plan } = this;
    if (!this.isTampered || !random.nextChance(plan.tamperChance)) return false;
    const at = random.nextBetween(0, frame.length - 1);
    frame[at] = (frame[at] ?? 0) ^ (1 << random.nextBetween(0, 7));
    return true;
  }

  #logOf(name: string): Log {
    const at =
      (level: string) =>
      (event: string, fields: LogFields = {}): void => {
        // A server turns whatever was thrown into a refusal: here it is a broken promise.
        if (fields['code'] === 'ERR_SYS_CALL') {
          this.maker.fail(new Violation(`${name}: ${event}: ${String(fields['reason'])}`));
        }
        if (this.#trace !== undefined)
          this.note(`${name} ${level} ${event} ${JSON.stringify(fields)}`);
      };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      trace: at('trace'),
    };
  }

  #isPayload(addr: number): boolean {
    return this.machines.some(({ memory }) => memory.includes(addr));
  }

  machine(name: string): Machine | undefined {
    return this.machines.find((one) => one.name === name);
  }

  connect(client: Machine, server: string, isAmidFaults = false): void {
    this.note(`${client.name} connects to ${server}`);
    this.maker.connect(client, server, isAmidFaults);
  }

  #onPair(pair: SessionPair, isAmidFaults: boolean): void {
    const { id, client, server, atClient } = pair;
    const { channels } = atClient.facts.agreement;
    const { provider } = atClient.facts;
    if (provider !== this.providerOf(client.name, server.name)) {
      this.maker.fail(new Violation(`session ${id} goes over ${provider}`));
    }
    this.note(`session ${id}: ${client.name} to ${server.name}, ${channels} channels`);
    this.links.push({
      pair,
      client,
      server,
      isDisturbed: isAmidFaults || this.plan.flipChance > 0,
      mayBeLost: isAmidFaults,
      disturbedUs: Number.NEGATIVE_INFINITY,
    });
  }

  #onRefused(client: string, server: string, reason: string): void {
    this.note(`no session from ${client} to ${server}: ${reason}`);
    if (this.providerOf(client, server) !== undefined) this.refusals++;
    else if (!reason.includes('engine.provider')) {
      this.maker.fail(new Violation(`${client} was refused by ${server} for ${reason}`));
    }
  }

  /** Ends of sessions on which something can be posted. */
  places(): Place[] {
    return this.links.flatMap(({ pair, client, server }): Place[] => [
      { own: client, peer: server, pair, session: pair.atClient },
      { own: server, peer: client, pair, session: pair.atServer },
    ]);
  }

  /** One round: what is due happens, and machines run, each or not. */
  async round(): Promise<void> {
    this.rounds++;
    let moved = this.time.run();
    for (const machine of [...this.machines]) moved += this.#step(machine);
    moved += this.strangers.poll();
    const isAwake = this.rounds <= this.#awakeUntil;
    if (isAwake || moved > 0) {
      for (let turn = 0; turn < (isAwake ? MICROTASKS : 1); turn++) await Promise.resolve();
    }
    const { failure } = this.maker;
    if (failure !== undefined)
      throw failure instanceof Error ? failure : new Error(String(failure));
    this.work.releaseQuarantines();
    if ((this.rounds & 63) === 0) this.network.sweep();
    this.#pass(moved);
  }

  #pass(moved: number): void {
    const { time, random } = this;
    if (moved > 0) {
      time.nowUs += random.nextBetween(1, 30);
      return;
    }
    const nextUs = Math.min(time.nextUs, this.network.nextUs, time.nowUs + IDLE_US);
    time.nowUs = Math.max(nextUs, time.nowUs + 1);
  }

  #step(machine: Machine): number {
    const { node } = machine;
    const { random } = this;
    const { nowUs } = this.time;
    let moved = 0;
    const first = random.nextBetween(0, node.lanes.count);
    for (let turn = 0; turn <= node.lanes.count; turn++) {
      if (random.nextChance(0.2)) continue;
      const actor = (first + turn) % (node.lanes.count + 1);
      moved +=
        actor === node.lanes.count
          ? this.#stepMain(machine, nowUs)
          : this.#stepLane(machine, actor, nowUs);
    }
    return moved;
  }

  #stepLane(machine: Machine, lane: number, nowUs: number): number {
    const { node } = machine;
    if (!node.isLaneRunning(lane, nowUs)) return 0;
    const moved = node.lanes.stepInline(lane);
    const core = node.lanes.inline[lane]?.core;
    if (core === undefined) return moved;
    checkWindows(machine.name, core);
    checkCredits(machine.name, core);
    return moved;
  }

  #stepMain(machine: Machine, nowUs: number): number {
    const { node } = machine;
    if (!node.isMainRunning(nowUs)) return 0;
    const moved = node.stepMain();
    machine.memory.pollClosing();
    return moved + this.work.settle(machine);
  }

  /** Everything of a machine is gone at once. */
  crash(machine: Machine, isSilent: boolean): void {
    machine.node.isAlive = false;
    machine.node.plugin?.vanish();
    // A kernel ends connections of a process that is gone in good order.
    if (!isSilent) for (const { port } of machine.node.controls) port.close(false);
    this.network.crash(machine.name, isSilent);
    this.machines.splice(this.machines.indexOf(machine), 1);
    this.graveyard.push(machine);
    this.work.onCrash(machine);
  }

  /** Rounds until the claim holds; a limit of virtual time stands for "never". */
  async until(isOver: () => boolean, limitMs: number, what: () => string): Promise<void> {
    const endUs = this.time.nowUs + limitMs * 1000;
    while (!isOver()) {
      if (this.time.nowUs > endUs) throw new Violation(`not within ${limitMs} ms: ${what()}`);
      await this.round();
    }
  }

  async destroy(): Promise<void> {
    for (const { node, memory } of [...this.machines, ...this.graveyard]) {
      await node.destroy();
      memory.destroy();
    }
    this.network.destroy();
  }
}
