// The harness of the simulator: sessions, transfers and lanes of the engine on virtual connections,
// with virtual time that passes only while somebody awaits. No GPU, no second process: nobody can
// block a thread on virtual time.

import { TcpxError } from '../../src/base/errors.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { Region, RegionRights, RegionSource } from '../../src/memory/region.js';
import type { Machine } from '../support/sim/sim-job.js';
import { planOf, type SimPlan } from '../support/sim/sim-plan.js';
import { SimWorld } from '../support/sim/sim-world.js';
import type {
  ContractEnd,
  Grant,
  Link,
  Place,
  ProviderHarness,
  ProviderPair,
  Shape,
} from './provider-world.js';

const SEED = 17;
const FULL_RIGHTS: RegionRights = { read: true, write: true };
const CONFIRM_WAIT_MS = 100;
const RELEASE_WAIT_MS = 5000;
const READY_MS = 10_000;
/** Of virtual time; a promise that takes longer never settles. */
const NEVER_MS = 600_000;
/** Entries of a simulated machine. */
const TRANSFERS_MAX = 24;

const CALM: Partial<SimPlan> = {
  machines: 2,
  lanes: 2,
  channels: 2,
  windowChunks: 4,
  chunkBytes: 16_384,
  paths: 1,
  delayUs: 50,
  jitterUs: 20,
  callBytesMax: 65_536,
  wholeChance: 0.7,
  blockChance: 0.05,
  pipeBytes: 262_144,
  faults: 0,
  isCalm: true,
  isChecked: true,
  flipChance: 0,
  plugin: undefined,
  variety: undefined,
  receiveBytes: 262_144,
  limits: {
    stallMs: 200,
    reconnectMs: 5000,
    controlTimeoutMs: 3000,
    progressMs: 5000,
    minRate: 64 * 1024,
  },
};
const SLOW: Partial<SimPlan> = { chunkBytes: 2048, windowChunks: 1, delayUs: 500 };

export function simulatedHarness(): ProviderHarness {
  return {
    name: 'simulator',
    capability: 'addressed',
    provider: 'tcp',
    path: 'tcp host',
    onLostChannel: 'another takes over',
    sizes: [1, 23, 4097, 100_003],
    slowBytes: 131_072,
    transfersMax: TRANSFERS_MAX,
    open: (shape) => SimulatedPair.open(shape),
    openFar: undefined,
    close: () => Promise.resolve(),
  };
}

/** As an engine has it, on a machine of the simulation. */
class SimEnd implements ContractEnd {
  readonly machine: Machine;
  readonly #world: SimWorld;

  constructor(world: SimWorld, machine: Machine) {
    this.#world = world;
    this.machine = machine;
  }

  register(source: RegionSource, { rights = FULL_RIGHTS, ...terms }: Grant = {}): Region {
    return this.machine.node.core.regions.register(source, rights, terms);
  }

  async deregister(region: Region, waitMs = CONFIRM_WAIT_MS): Promise<void> {
    const { regions } = this.machine.node.core;
    const { time } = this.#world;
    regions.beginClose(region);
    const endUs = time.nowUs + waitMs * 1000;
    while (regions.users(region) > 0) {
      if (time.nowUs >= endUs) {
        regions.cancelClose(region);
        throw new TcpxError('ERR_USAGE_REGION_BUSY', `region ${region.id} is in use`);
      }
      await new Promise<void>((resolve) => time.after(1000, resolve));
    }
    regions.finishClose(region);
  }

  /** Machines move by themselves. */
  poll(): void {
    return;
  }
}

class SimulatedPair implements ProviderPair {
  readonly initiator: SimEnd;
  readonly target: SimEnd;
  readonly notifications: string[] = [];
  readonly session: Link['session'];
  readonly targetSession: Link['targetSession'];
  readonly #world: SimWorld;

  private constructor(world: SimWorld, ends: readonly [SimEnd, SimEnd], link: Link) {
    this.#world = world;
    [this.initiator, this.target] = ends;
    this.session = link.session;
    this.targetSession = link.targetSession;
    // Simulated programs know their notifications by number; these are a test's.
    world.work.onNotification = (machine, { bytes }) => {
      if (machine === this.target.machine) this.notifications.push(Buffer.from(bytes).toString());
    };
  }

  static async open(shape: Shape): Promise<SimulatedPair> {
    const plan = { ...planOf(SEED), ...CALM, ...(shape === 'slow' ? SLOW : {}) };
    const world = new SimWorld(plan, undefined, undefined);
    const [client, server] = world.machines;
    if (client === undefined || server === undefined) throw new Error('two machines');
    const link = await connect(world, client, server);
    return new SimulatedPair(world, [new SimEnd(world, client), new SimEnd(world, server)], link);
  }

  place(end: ContractEnd, bytes: number, grant: Grant = {}): Place {
    const memory = new Uint8Array(bytes);
    const region = end.register(memory, grant);
    return {
      end,
      region,
      bytes,
      fill: (seed) => fillPattern(memory, seed, 0),
      mismatches: (seed) => verifyPattern(memory, seed, 0).count,
      release: () => end.deregister(region, RELEASE_WAIT_MS),
    };
  }

  plain(end: ContractEnd, bytes: number): Place {
    return this.place(end, bytes);
  }

  connect(): Promise<Link> {
    return connect(this.#world, this.initiator.machine, this.target.machine);
  }

  async drive<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    await this.#world.until(
      () => isSettled,
      NEVER_MS,
      () => 'a promise settles',
    );
    return promise;
  }

  async pause(ms: number): Promise<void> {
    const endUs = this.#world.time.nowUs + ms * 1000;
    await this.#world.until(
      () => this.#world.time.nowUs >= endUs,
      NEVER_MS,
      () => 'time passes',
    );
  }

  planFrames(): number {
    return 0;
  }

  breakChannel(): void {
    const wire = this.#world.network.wires.find(({ connection }) => !connection.isOver);
    if (wire === undefined) throw new Error('no connection is open');
    wire.connection.resetBoth();
  }

  async close(): Promise<void> {
    await this.#world.destroy();
  }
}

async function connect(world: SimWorld, client: Machine, server: Machine): Promise<Link> {
  const before = world.links.length;
  world.connect(client, server.name);
  // By the product's own handshake, over virtual connections.
  await world.until(
    () => world.links.length > before,
    READY_MS,
    () => 'the session is made',
  );
  const pair = world.links.at(-1)?.pair;
  if (pair === undefined) throw new Error('a link was made');
  const { atClient, atServer } = pair;
  await world.until(
    () => atClient.isReady && atServer.isReady,
    READY_MS,
    () => 'the session is ready',
  );
  return { session: atClient.face, targetSession: atServer.face };
}
