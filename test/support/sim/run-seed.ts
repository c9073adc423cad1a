// One run: machines connect, programs post, accidents happen, everything heals and ends. Throws
// what was violated; the same seed does the same again.

import { settleBoundMs } from '../../../src/engine/progress-watch.js';
import { SimFaults } from './sim-faults.js';
import { whatIsLeft } from './sim-invariants.js';
import { isMatched, type Machine } from './sim-job.js';
import { CELL_BYTES } from './sim-memory.js';
import { planOf, type SimPlan } from './sim-plan.js';
import { controlOf } from './sim-session.js';
import { type SimLink, SimWorld } from './sim-world.js';
import { Violation } from './violation.js';

export interface RunOptions {
  /** Changes a machine on purpose: the run must notice. */
  readonly mutate?: (machine: Machine) => void;
  readonly trace?: (line: string) => void;
  readonly plan?: (plan: SimPlan) => SimPlan;
}

export interface RunFigures {
  readonly rounds: number;
  readonly transfers: number;
  readonly done: number;
  /** Of them: through plugins. */
  readonly matched: number;
  readonly failovers: number;
  readonly lostSessions: number;
  readonly virtualMs: number;
}

const SET_UP_MS = 10_000;
/**
 * After the deadline that every matched transfer has: grace, the peer's word, processes. A peer
 * that says nothing is asked for a later epoch for as long as a session may be without connection.
 */
const EPOCH_END_MS = 5000;
/** For lanes to let go of a session that is lost, beyond the bound. */
const ENDING_MS = 1000;
const CLOSE_MS = 15_000;
/** What an attempt to connect may take when nothing happens to it any more. */
const ATTEMPT_MS = 30_000;

export async function runSeed(seed: number, options: RunOptions = {}): Promise<RunFigures> {
  const plan = (options.plan ?? ((same: SimPlan) => same))(planOf(seed));
  const world = new SimWorld(plan, options.mutate, options.trace);
  const startUs = world.time.nowUs;
  try {
    await setUp(world);
    await playFaults(world);
    await heal(world);
    checkSessions(world);
    const failovers = failoversOf(world.links);
    const lostSessions = world.links.filter(hasEnded).length;
    await closeAll(world);
    world.work.checkEnd();
    for (const { memory } of world.machines) memory.checkFree();
    const done = world.work.jobs.filter((job) => job.outcome === 'done');
    return {
      rounds: world.rounds,
      transfers: world.work.jobs.length,
      done: done.length,
      matched: done.filter(isMatched).length,
      failovers,
      lostSessions,
      virtualMs: (world.time.nowUs - startUs) / 1000,
    };
  } finally {
    await world.destroy();
  }
}

/** All others connect to the first machine; some also the other way. */
async function setUp(world: SimWorld): Promise<void> {
  const [hub, ...others] = world.machines;
  if (hub === undefined) throw new Error('no machine');
  for (const other of others) world.connect(other, hub.name);
  const [first] = others;
  if (first !== undefined && world.random.nextChance(0.2)) world.connect(hub, first.name);
  const isReady = ({ pair }: SimLink): boolean => pair.atClient.isReady && pair.atServer.isReady;
  await world.until(
    () => world.maker.attempts.length === 0 && world.links.every(isReady),
    SET_UP_MS,
    () => 'sessions ready',
  );
  if (world.refusals > 0) throw new Violation('a session could not be made');
}

async function playFaults(world: SimWorld): Promise<void> {
  const { plan, work, random } = world;
  const faults = new SimFaults(world);
  world.isTampered = true;
  let idleRounds = 0;
  while ((work.jobs.length < plan.transfers && idleRounds < 3000) || work.active.size > 0) {
    await world.round();
    faults.tick();
    if (random.nextChance(0.05)) reconnect(world);
    if (work.active.size >= plan.activeMax || work.jobs.length >= plan.transfers) {
      work.cancelSome();
      checkAges(world);
      continue;
    }
    const places = world.places().filter(({ own, session }) => session.isReady && own.node.isAlive);
    const place = places[random.nextBetween(0, places.length - 1)];
    if (place === undefined || !work.post(place)) idleRounds++;
    work.cancelSome();
  }
}

// A client whose session is gone makes a new one, now and then.
function reconnect(world: SimWorld): void {
  if (world.links.length + world.refusals > 16) return;
  for (const { client, server } of world.links) {
    const own = world.machine(client.name);
    const peer = world.machine(server.name);
    if (own === undefined || world.maker.isTrying(client.name, server.name)) continue;
    const isOpen = world.links.some(
      (link) => link.client.name === own.name && link.server.name === server.name && !isGone(link),
    );
    if (isOpen) continue;
    // One that has crashed may come back while it is called.
    if (peer === undefined && !world.random.nextChance(0.1)) continue;
    world.connect(own, server.name, true);
    return;
  }
}

function isGone({ pair, client, server }: SimLink): boolean {
  const isClientGone = !client.node.isAlive || pair.atClient.state === 'closed';
  const isServerGone = !server.node.isAlive || pair.atServer.state === 'closed';
  return isClientGone && isServerGone;
}

// The bound of docs/reliability.md, and the time in which the machine itself did not run.
function checkAges(world: SimWorld): void {
  const { activeMax, work, limits, plugin } = world.plan;
  world.maker.checkAges();
  const bytes = activeMax * (work.cellsMax * CELL_BYTES + work.notifyBytesMax);
  const boundMs = settleBoundMs(limits, bytes) + ENDING_MS;
  for (const job of world.work.active) {
    const epochEndMs = EPOCH_END_MS + limits.reconnectMs;
    const deadlineMs = isMatched(job) ? (plugin?.deadlineMs ?? 0) + epochEndMs : 0;
    const limitMs = Math.max(boundMs, deadlineMs) + job.own.node.pausedMs - job.pausedMs;
    if (world.time.nowUs - job.postedUs < limitMs * 1000) continue;
    throw new Violation(`transfer ${job.id} has not ended within ${Math.round(limitMs)} ms`);
  }
}

/** No more accidents; paths carry, machines run. */
async function heal(world: SimWorld): Promise<void> {
  for (const { path, connection } of world.network.wires) {
    path.frozenUs = 0;
    connection.rate = Number.POSITIVE_INFINITY;
  }
  world.network.rates.clear();
  world.fabric?.heal();
  for (const { node } of world.machines) {
    node.mainPausedUs = 0;
    node.lanePausedUs.fill(0);
  }
  await world.until(
    () => world.work.active.size === 0,
    world.plan.limits.reconnectMs + CLOSE_MS,
    () => `transfers ${[...world.work.active].map(({ id }) => id).join(' ')}`,
  );
  world.isTampered = false;
  await world.until(
    () => world.maker.attempts.length === 0,
    ATTEMPT_MS,
    () => 'every attempt to connect has ended',
  );
  const broken = (): SimLink[] => world.links.filter((link) => !hasEnded(link) && !isWhole(link));
  await world.until(
    () => broken().length === 0,
    CLOSE_MS,
    () => `every connection of session ${broken()[0]?.pair.id ?? 0} is back`,
  );
  await healPlugins(world);
}

/** Channels of plugins come back when somebody wants them, and nothing is under way on them. */
async function healPlugins(world: SimWorld): Promise<void> {
  const down = (): SimLink[] =>
    world.links.filter(({ pair, client, server }) => {
      if (!client.node.isAlive || !server.node.isAlive || pair.atClient.isEnding()) return false;
      return [pair.atClient, pair.atServer].some(
        ({ matched }) =>
          matched?.epochs.hasBeenReady === true &&
          (matched.epochs.state !== 'ready' || matched.deck.count > 0),
      );
    });
  await world.until(
    () => {
      for (const { pair } of down()) {
        const end = world.random.nextChance(0.5) ? pair.atClient : pair.atServer;
        if (end.matched?.epochs.state === 'down') end.matched.ready().catch(() => undefined);
      }
      return down().length === 0;
    },
    CLOSE_MS,
    () => `plugin channels of session ${down()[0]?.pair.id ?? 0} are back`,
  );
}

// An end whose peer has crashed is never whole: it has to find out, also if it has nothing to send.
function isWhole({ pair, client, server }: SimLink): boolean {
  if (!client.node.isAlive || !server.node.isAlive) {
    return !client.node.isAlive && !server.node.isAlive;
  }
  const { atClient, atServer } = pair;
  const [own, theirs] = [controlOf(atClient), controlOf(atServer)];
  const isControlled =
    own.isOpen && theirs.isOpen && own.port.connection === theirs.port.connection && !own.isSilent;
  return isControlled && atClient.recovery.book.isWhole && atServer.recovery.book.isWhole;
}

function hasEnded({ pair, client, server }: SimLink): boolean {
  return (
    (client.node.isAlive && pair.atClient.isEnding()) ||
    (server.node.isAlive && pair.atServer.isEnding())
  );
}

function failoversOf(links: readonly SimLink[]): number {
  return links.reduce(
    (sum, { pair }) => sum + pair.atClient.recovery.failovers + pair.atServer.recovery.failovers,
    0,
  );
}

function checkSessions(world: SimWorld): void {
  for (const link of world.links) {
    const { id, atClient, atServer } = link.pair;
    for (const error of [atClient.error, atServer.error]) {
      if (error?.code.startsWith('ERR_WIRE') === true || error?.code === 'ERR_SYS_CALL') {
        throw new Violation(`session ${id}: ${error.code}: ${error.message}`);
      }
    }
    if (!link.mayBeLost && hasEnded(link)) {
      const error = atClient.error ?? atServer.error;
      throw new Violation(`session ${id} was lost without need: ${error?.message ?? ''}`);
    }
    if (!link.isDisturbed && failoversOf([link]) > 0) {
      throw new Violation(`session ${id} gave up a channel without need`);
    }
  }
}

async function closeAll(world: SimWorld): Promise<void> {
  world.strangers.leave();
  for (const { pair, client, server } of world.links) {
    if (client.node.isAlive) void pair.atClient.close();
    for (let round = world.random.nextBetween(0, 20); round > 0; round--) await world.round();
    if (server.node.isAlive) void pair.atServer.close();
  }
  const left = (): string | undefined => {
    for (const machine of world.machines) {
      const what = whatIsLeft(machine, world.network);
      if (what !== undefined) return `${machine.name} has ${what}`;
    }
    return undefined;
  };
  await world.until(
    () => left() === undefined,
    CLOSE_MS,
    () => left() ?? '',
  );
}
