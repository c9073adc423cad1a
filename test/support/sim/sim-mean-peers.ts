// Peers that show signs of life and do not do their part: they attach and confirm nothing, trickle,
// or are slow, but as fast as they have to be.

import type { Fault, SimFaults } from './sim-faults.js';
import { MIN_RATE, pick } from './sim-plan.js';

/** What a machine lets go of its data meanwhile, as a part of what is asked of it. */
function slowDown(faults: SimFaults, part: number, how: string): boolean {
  const { world, random } = faults;
  // Heads and acknowledgements weigh on small chunks: a slow peer has room for them.
  const rate = part < 1 ? part * world.plan.limits.minRate : part * MIN_RATE;
  const { name } = faults.anyMachine();
  const { rates } = world.network;
  if (rates.has(name)) return false;
  const durationMs = pick(random, [3000, 20_000, 60_000]);
  world.note(`${name} ${how} for ${durationMs} ms`);
  rates.set(name, rate);
  world.time.after(durationMs * 1000, () => rates.delete(name));
  for (const machine of world.machines.filter((one) => one.name === name)) {
    faults.disturb(faults.linksOf(machine), part < 1);
  }
  return true;
}

// Connections are attached anew, and nothing is ever confirmed on them.
const revive: Fault = (faults) => slowDown(faults, 0, 'attaches and confirms nothing');
// Some bytes a second: there is always a sign of life.
const trickle: Fault = (faults) => slowDown(faults, 1 / 8192, 'trickles');
// Slow, but as fast as it has to be: nothing may be lost by it.
const slow: Fault = (faults) => slowDown(faults, 4, 'is slow');

export const MEAN: readonly Fault[] = [revive, trickle, slow];
