// Accidents of plugins: their processes end, stand still or refuse, their connections break, crawl
// or die without a word, messages have wrong lengths, match connections are cut or trickle.

import type { SimChannel } from './sim-channel.js';
import type { SimComm } from './sim-comm.js';
import type { Fault, SimFaults } from './sim-faults.js';
import { isMatched, type Machine } from './sim-job.js';
import { pick } from './sim-plan.js';
import type { SimProcess } from './sim-process.js';

function anyProcess(faults: SimFaults): { machine: Machine; process: SimProcess } | undefined {
  const machine = faults.anyMachine();
  const processes = machine.node.plugin?.processes ?? [];
  if (processes.length === 0) return undefined;
  return { machine, process: pick(faults.random, processes) };
}

function anyChannel(faults: SimFaults): { machine: Machine; channel: SimChannel } | undefined {
  const machine = faults.anyMachine();
  const channels = [...(machine.node.plugin?.channels ?? [])].filter(({ isGone }) => !isGone);
  if (channels.length === 0) return undefined;
  return { machine, channel: pick(faults.random, channels) };
}

function anyComm(faults: SimFaults): { machine: Machine; comm: SimComm } | undefined {
  const found = anyChannel(faults);
  const comms = found?.channel.comms ?? [];
  if (found === undefined || comms.length === 0) return undefined;
  return { machine: found.machine, comm: pick(faults.random, comms) };
}

function onComm(name: string, act: (comm: SimComm) => void): Fault {
  return (faults) => {
    const found = anyComm(faults);
    if (found === undefined) return false;
    faults.world.note(`plugin of ${found.machine.name}: ${name}`);
    act(found.comm);
    faults.disturb(faults.linksOf(found.machine), false);
    return true;
  };
}

const killProcess: Fault = (faults) => {
  const found = anyProcess(faults);
  if (found === undefined) return false;
  faults.world.note(`plugin process of ${found.machine.name}, ${found.process.nic}, ends`);
  found.process.exit();
  faults.disturb(faults.linksOf(found.machine), false);
  return true;
};

const hangProcess: Fault = (faults) => {
  const found = anyProcess(faults);
  if (found === undefined) return false;
  const durationMs = pick(faults.random, [50, 450, 900, 2500, 6000, Number.POSITIVE_INFINITY]);
  const { machine, process } = found;
  const { world } = faults;
  world.note(`plugin process of ${machine.name}, ${process.nic}, hangs for ${durationMs} ms`);
  process.pause(world.time.nowUs + durationMs * 1000);
  faults.disturb(faults.linksOf(machine), false);
  return true;
};

// Whatever is set up or mapped next, by whomever, meets it.
const failSetUp: Fault = (faults) => {
  const { world, random } = faults;
  if (world.fabric === undefined) return false;
  const what = pick(random, ['joins', 'maps'] as const);
  world.fabric.failing[what] = random.nextBetween(1, 2);
  world.note(`the next ${what} of plugins fail`);
  faults.disturb(world.links, false);
  return true;
};

const cutMatch: Fault = (faults) => {
  const { world, random } = faults;
  const machine = faults.anyMachine();
  const sockets = [...machine.node.matchSockets];
  if (sockets.length === 0) return false;
  const { connection } = pick(random, sockets).port;
  const how = pick(random, ['reset', 'end', 'silent', 'late'] as const);
  world.note(`match connection ${connection.a.fd}: ${how}`);
  if (how === 'reset') connection.resetBoth();
  else if (how === 'end') connection.endBoth();
  else if (how === 'silent') connection.cutSilently();
  else {
    const untilUs = world.time.nowUs + random.nextBetween(1000, 2_500_000);
    for (const { out } of [connection.a, connection.b]) out.frozenUs = untilUs;
  }
  faults.disturb(faults.linksOf(machine), false);
  return true;
};

export const PLUGIN_FAULTS: readonly Fault[] = [
  killProcess,
  killProcess,
  hangProcess,
  hangProcess,
  failSetUp,
  cutMatch,
  cutMatch,
  onComm('a connection is reset', (comm) => comm.reset()),
  onComm('a connection is dead', (comm) => comm.die()),
  onComm('a message is too short', (comm) => comm.resize((bytes) => bytes - 1)),
];

// Whoever waits for it has to give up by itself.
const neverJoin: Fault = (faults) => {
  const { world, random } = faults;
  if (world.fabric === undefined) return false;
  world.fabric.failing.silentJoins = random.nextBetween(1, 3);
  world.note('the next joins of plugins have no end');
  faults.disturb(world.links, false);
  return true;
};

const trickleMatch: Fault = (faults) => {
  const { world, random } = faults;
  const machine = faults.anyMachine();
  const sockets = [...machine.node.matchSockets];
  if (sockets.length === 0) return false;
  const { connection } = pick(random, sockets).port;
  connection.rate = pick(random, [1, 40, 400]);
  world.note(`match connection ${connection.a.fd} trickles, ${connection.rate} bytes a second`);
  faults.disturb(faults.linksOf(machine), false);
  return true;
};

// Under a transfer that a plugin may be working on at this moment.
const deregisterUsed: Fault = (faults) => {
  const jobs = [...faults.world.work.active].filter((job) => isMatched(job) && isLiving(job.peer));
  if (jobs.length === 0) return false;
  const { peer, remotes } = pick(faults.random, jobs);
  faults.deregister(peer, peer.memory.regionIndex(pick(faults.random, remotes)));
  return true;
};

function isLiving({ node }: Machine): boolean {
  return node.isAlive;
}

/** Those of runs with more variety. */
export const RARE_PLUGIN_FAULTS: readonly Fault[] = [
  deregisterUsed,
  deregisterUsed,
  neverJoin,
  neverJoin,
  trickleMatch,
  trickleMatch,
  onComm('each message takes 50 ms more', (comm) => comm.slowDown(50_000)),
  onComm('each message takes 2 s more', (comm) => comm.slowDown(2_000_000)),
  onComm('a message is too long', (comm) => comm.resize((bytes) => bytes + 1)),
  onComm('a message is empty', (comm) => comm.resize(() => 0)),
];
