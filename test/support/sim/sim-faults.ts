// Accidents, chosen by the seed, at any moment: while data moves, while fences travel, while a
// channel is dialled anew. Each says which sessions it touches, and whether it may cost them.

import type { Random } from '../../../src/base/random.js';
import { END_OF_STREAM } from '../../../src/os/control-socket.js';
import type { Machine } from './sim-job.js';
import { MEAN } from './sim-mean-peers.js';
import type { Wire } from './sim-network.js';
import { pick } from './sim-plan.js';
import { PLUGIN_FAULTS, RARE_PLUGIN_FAULTS } from './sim-plugin-faults.js';
import { controlOf } from './sim-session.js';
import type { SimLink, SimWorld } from './sim-world.js';

/** Two accidents within this time may cost a session although one alone would not. */
const ALONE_US = 12_000_000;
/** Calm accidents are that far apart. */
const CALM_GAP_US = 2_000_000;
/** Sessions of a run, good or not. */
const SESSIONS_MAX = 14;
/** What a session outlives in any case. */
const SHORT_MS = 1200;
const CALM_MS = 430;

export type Fault = (faults: SimFaults) => boolean;

export class SimFaults {
  readonly world: SimWorld;
  readonly random: Random;
  #left: number;
  #lastUs = Number.NEGATIVE_INFINITY;
  restarts = 0;

  constructor(world: SimWorld) {
    this.world = world;
    this.random = world.random;
    this.#left = world.plan.faults;
  }

  /** Perhaps something happens now. */
  tick(): void {
    const { world, random } = this;
    if (
      this.#left === 0 ||
      world.machines.length === 0 ||
      !random.nextChance(1 / world.plan.faultRounds)
    )
      return;
    if (world.plan.isCalm && world.time.nowUs - this.#lastUs < CALM_GAP_US) return;
    const fault = pick(random, this.#choices());
    if (!fault(this)) return;
    this.#left--;
    this.#lastUs = world.time.nowUs;
  }

  #choices(): readonly Fault[] {
    const { isCalm, isMean, plugin, variety } = this.world.plan;
    if (isMean) return MEAN;
    if (isCalm) return CALM;
    if (plugin === undefined) return WILD;
    const rare = variety === undefined ? [] : RARE_PLUGIN_FAULTS;
    return [...WILD, ...PLUGIN_FAULTS, ...rare];
  }

  linksOf(machine: Machine): SimLink[] {
    return this.world.links.filter(({ client, server }) => [client, server].includes(machine));
  }

  disturb(links: readonly SimLink[], mayBeLost: boolean): void {
    const { nowUs } = this.world.time;
    for (const link of links) {
      link.isDisturbed = true;
      link.pair.isExcused = true;
      if (mayBeLost || nowUs - link.disturbedUs < ALONE_US) link.mayBeLost = true;
      link.disturbedUs = nowUs;
    }
  }

  anyMachine(): Machine {
    return pick(this.random, this.world.machines);
  }

  anyWire(): Wire | undefined {
    const wires = this.world.network.wires.filter(({ connection }) => !connection.isOver);
    return wires.length === 0 ? undefined : pick(this.random, wires);
  }

  /** One that is not the control connection of a session: those have accidents of their own. */
  anyDataWire(): Wire | undefined {
    const { wires } = this.world.network;
    const those = wires.filter(({ connection }) => !connection.isOver && !connection.isControl);
    return those.length === 0 ? undefined : pick(this.random, those);
  }

  linksOfWire({ a, b }: Pick<Wire, 'a' | 'b'>): SimLink[] {
    return this.world.links.filter(
      ({ client, server }) =>
        (client.name === a && server.name === b) || (client.name === b && server.name === a),
    );
  }

  durationMs(): number {
    if (this.world.plan.isCalm) return this.random.nextBetween(1, CALM_MS);
    return pick(this.random, [50, 450, 700, 1000, SHORT_MS, 3000, 7000]);
  }

  deregister(machine: Machine, index: number): void {
    this.world.note(`${machine.name} deregisters region ${index}`);
    machine.memory.beginClose(index);
    this.world.work.onClosing(machine, index);
  }

  /** Whether a pause of this length can be felt. */
  mark(links: readonly SimLink[], durationMs: number): void {
    if (!this.world.plan.isCalm) this.disturb(links, durationMs > SHORT_MS);
  }
}

const freezePath: Fault = (faults) => {
  const wire = faults.anyWire();
  if (wire === undefined) return false;
  const { world } = faults;
  const durationMs = world.plan.isCalm ? faults.random.nextBetween(1, 180) : faults.durationMs();
  world.note(`path ${wire.a} ${wire.b} stands still for ${durationMs} ms`);
  wire.path.frozenUs = Math.max(wire.path.frozenUs, world.time.nowUs + durationMs * 1000);
  faults.mark(faults.linksOfWire(wire), durationMs);
  return true;
};

const freezeOneWay: Fault = (faults) => {
  const wire = faults.anyDataWire();
  if (wire === undefined) return false;
  const port = pick(faults.random, [wire.connection.a, wire.connection.b]);
  const durationMs = faults.durationMs();
  faults.world.note(`connection ${port.fd} sends nothing for ${durationMs} ms`);
  port.out.frozenUs = Math.max(port.out.frozenUs, faults.world.time.nowUs + durationMs * 1000);
  const isOnly = faults.world.plan.channels === 1;
  faults.disturb(faults.linksOfWire(wire), isOnly && durationMs > SHORT_MS);
  return true;
};

const CUTS = ['reset', 'end', 'silent', 'one end reset'] as const;

function cut(faults: SimFaults, wire: Wire, how: (typeof CUTS)[number]): void {
  faults.world.note(`connection ${wire.connection.a.fd}: ${how}`);
  switch (how) {
    case 'reset':
      wire.connection.resetBoth();
      break;
    case 'end':
      wire.connection.endBoth();
      break;
    case 'silent':
      wire.connection.cutSilently();
      break;
    case 'one end reset':
      wire.connection.cutSilently();
      pick(faults.random, [wire.connection.a, wire.connection.b]).into.isReset = true;
      break;
  }
}

const cutOne: Fault = (faults) => {
  const wire = faults.anyDataWire();
  if (wire === undefined) return false;
  cut(faults, wire, pick(faults.random, CUTS));
  faults.disturb(faults.linksOfWire(wire), false);
  return true;
};

// While somebody proves who it is, or waits for the answer.
const cutHandshake: Fault = (faults) => {
  const young = faults.world.network.wires.filter(
    ({ connection }) => !connection.isOver && !connection.isControl && !connection.isData,
  );
  if (young.length === 0) return false;
  const wire = pick(faults.random, young);
  cut(faults, wire, pick(faults.random, CUTS));
  faults.disturb(faults.linksOfWire(wire), false);
  return true;
};

const cutAll: Fault = (faults) => {
  const wire = faults.anyDataWire();
  if (wire === undefined) return false;
  const how = pick(faults.random, CUTS);
  for (const other of faults.world.network.wires) {
    const isBetween = other.a === wire.a && other.b === wire.b;
    if (isBetween && !other.connection.isControl) cut(faults, other, how);
  }
  faults.disturb(faults.linksOfWire(wire), false);
  return true;
};

const crash: Fault = (faults) => {
  const { world, random } = faults;
  if (faults.restarts >= 2) return false;
  faults.restarts++;
  const machine = faults.anyMachine();
  const isSilent = random.nextChance(0.3);
  world.note(`${machine.name} crashes${isSilent ? ' silently' : ''}`);
  faults.disturb(faults.linksOf(machine), true);
  world.crash(machine, isSilent);
  world.time.after(random.nextBetween(1, 2_000_000), () => {
    world.note(`${machine.name} starts again`);
    world.start(machine.name);
  });
  return true;
};

// The client attaches another; where only the server knows, it asks for one over a channel.
const loseControl: Fault = (faults) => {
  const { world, random } = faults;
  if (world.links.length === 0) return false;
  const link = pick(random, world.links);
  const how = pick(random, [END_OF_STREAM, 'ECONNRESET']);
  const ends = pick(random, [1, 2, 3]);
  world.note(`control connection of session ${link.pair.id}: ${how}, ends ${ends}`);
  const { atClient, atServer } = link.pair;
  if ((ends & 1) !== 0) controlOf(atClient).lose(how);
  if ((ends & 2) !== 0) controlOf(atServer).lose(how);
  if (!world.plan.isCalm) faults.disturb([link], false);
  return true;
};

// Nothing passes any more, or not for a while, and neither end is told: its kernel has to find out.
const silenceControl: Fault = (faults) => {
  const { world, random } = faults;
  if (world.links.length === 0) return false;
  const link = pick(random, world.links);
  const durationMs = world.plan.isCalm
    ? random.nextBetween(1, 2000)
    : pick(random, [1000, 3000, 7000, Number.POSITIVE_INFINITY]);
  world.note(`control connection of session ${link.pair.id} is silent for ${durationMs} ms`);
  controlOf(link.pair.atClient).silenceUntil(world.time.nowUs + durationMs * 1000);
  if (!world.plan.isCalm) faults.disturb([link], false);
  return true;
};

// The server's kernel gives up every connection of a session alone. Only the client can dial.
const loseAllAtServer: Fault = (faults) => {
  const { world, random } = faults;
  if (world.links.length === 0) return false;
  const link = pick(random, world.links);
  const { client, server, pair } = link;
  if (!client.node.isAlive || !server.node.isAlive) return false;
  world.note(`the server of session ${pair.id} has lost every connection`);
  controlOf(pair.atServer).lose('ECONNABORTED');
  for (const { a, b, connection } of world.network.wires) {
    if (a !== client.name || b !== server.name || connection.isControl) continue;
    connection.cutSilently();
    connection.b.into.isReset = true;
  }
  // Also those of another session between the two.
  faults.disturb(faults.linksOfWire({ a: client.name, b: server.name }), false);
  return true;
};

const pauseMachine: Fault = (faults) => {
  const machine = faults.anyMachine();
  const durationMs = faults.durationMs();
  faults.world.note(`${machine.name} is stopped for ${durationMs} ms`);
  const untilUs = faults.world.time.nowUs + durationMs * 1000;
  machine.node.mainPausedUs = untilUs;
  machine.node.lanePausedUs.fill(untilUs);
  machine.node.pausedMs += durationMs;
  faults.mark(faults.linksOf(machine), durationMs);
  return true;
};

const pauseMain: Fault = (faults) => {
  const machine = faults.anyMachine();
  const durationMs = faults.durationMs();
  faults.world.note(`main thread of ${machine.name} is busy for ${durationMs} ms`);
  machine.node.mainPausedUs = faults.world.time.nowUs + durationMs * 1000;
  machine.node.pausedMs += durationMs;
  faults.mark(faults.linksOf(machine), durationMs);
  return true;
};

const pauseLane: Fault = (faults) => {
  const machine = faults.anyMachine();
  const durationMs = faults.durationMs();
  const lane = faults.random.nextBetween(0, machine.node.lanes.count - 1);
  faults.world.note(`lane ${lane} of ${machine.name} does not run for ${durationMs} ms`);
  machine.node.lanePausedUs[lane] = faults.world.time.nowUs + durationMs * 1000;
  machine.node.pausedMs += durationMs;
  faults.mark(faults.linksOf(machine), durationMs);
  return true;
};

const jumpClock: Fault = (faults) => {
  const machine = faults.anyMachine();
  const durationMs = faults.durationMs();
  faults.world.note(`clock of ${machine.name} jumps by ${durationMs} ms`);
  machine.node.clock.aheadUs += durationMs * 1000;
  faults.mark(faults.linksOf(machine), durationMs);
  return true;
};

const deregister: Fault = (faults) => {
  const machine = faults.anyMachine();
  faults.deregister(machine, faults.random.nextBetween(0, machine.memory.regions.length - 1));
  return true;
};

const goodbye: Fault = (faults) => {
  if (faults.world.links.length === 0) return false;
  const link = pick(faults.random, faults.world.links);
  const isClient = faults.random.nextChance(0.5);
  const { node } = isClient ? link.client : link.server;
  if (!node.isAlive) return false;
  faults.world.note(`session ${link.pair.id} is closed by its ${isClient ? 'client' : 'server'}`);
  faults.disturb([link], true);
  void (isClient ? link.pair.atClient : link.pair.atServer).close();
  return true;
};

// One more session, which may come to nothing: accidents are all around.
const callAgain: Fault = (faults) => {
  const { world, random } = faults;
  if (world.links.length + world.maker.attempts.length + world.refusals > SESSIONS_MAX)
    return false;
  if (world.links.length === 0) return false;
  const { client, server } = pick(random, world.links);
  const own = world.machine(client.name);
  if (own === undefined) return false;
  world.connect(own, server.name, true);
  const { delayUs, jitterUs, channels } = world.plan;
  const lastsUs = (4 + 4 * channels) * (delayUs + jitterUs);
  if (random.nextChance(0.5)) {
    world.time.after(random.nextBetween(0, lastsUs), () => cutHandshake(faults));
  }
  return true;
};

const intrude: Fault = (faults) => {
  const what = faults.world.strangers.play();
  if (what === undefined) return false;
  faults.world.note(`a stranger comes with ${what}`);
  return true;
};

const CALM: readonly Fault[] = [
  pauseMachine,
  pauseMain,
  pauseLane,
  jumpClock,
  freezePath,
  loseControl,
  silenceControl,
  deregister,
  intrude,
];

const WILD: readonly Fault[] = [
  freezePath,
  freezePath,
  freezeOneWay,
  freezeOneWay,
  cutOne,
  cutOne,
  cutOne,
  cutAll,
  crash,
  loseControl,
  silenceControl,
  loseAllAtServer,
  pauseMachine,
  pauseMain,
  pauseLane,
  jumpClock,
  deregister,
  intrude,
  intrude,
  goodbye,
  callAgain,
  callAgain,
  cutHandshake,
  ...MEAN,
];
