// Settings with what this host's CPUs, NICs and kernel make of those that nobody has set.

import { availableParallelism } from 'node:os';
import { type Config, isByHand, withAuto } from '../base/config.js';
import { splitNics } from '../base/interface-list.js';
import { CONGESTION_AUTO, congestionHere, kernelCongestion, PACED } from '../os/congestion.js';
import type { Choice } from '../provider/receipt.js';
import type { OwnLaneUse } from '../provider/tcp/lane/own-lane.js';
import type { Agreement } from '../wire/control-frame.js';
import { choicesOf, type PeerTerms } from './choices.js';
import { hasOwnLane, nearLanes, type TuningFacts, tune, tuneServed } from './tuning.js';

export function tunedHere(config: Config): Config {
  const tuned = tune(config, factsOf(config));
  if (config.values['socket.congestion'] !== CONGESTION_AUTO) return tuned;
  const { reason } = congestionHere(CONGESTION_AUTO);
  return withAuto(tuned, 'socket.congestion', CONGESTION_AUTO, reason);
}

/** For the engine of a service's client, before that one chooses the rest. */
export function tunedServed(config: Config): Config {
  return tuneServed(config, factsOf(config));
}

/** See nearLanes; all that somebody asked for. */
export function nearLanesHere(config: Config): number {
  if (isByHand(config, 'lane.count')) return config.values['lane.count'];
  return nearLanes(availableParallelism());
}

/** What the lane of the thread that opens an engine is for, where that thread has one. */
export function ownLaneUseHere(config: Config, isShared = false): OwnLaneUse | undefined {
  if (!hasOwnLane(config, factsOf(config))) return undefined;
  return isShared ? 'all' : 'posts';
}

function factsOf(config: Config): TuningFacts {
  const nics = splitNics(config.values['session.nics']).length;
  return { cpus: availableParallelism(), nics };
}

/** Says of each session what it runs with, and why. */
export function choiceMaker(config: Config) {
  const { begin, far, reason } = congestionHere(config.values['socket.congestion']);
  const kernel = kernelCongestion();
  const congestion = { near: begin || kernel, far: far || begin || kernel, reason };
  return (agreement: Agreement, terms: PeerTerms): readonly Choice[] =>
    choicesOf(config, agreement, terms, congestion);
}

/** Whether connections to near peers are paced by timers; see os/congestion.ts. */
export function isNearPacedHere(config: Config): boolean {
  return nearCongestion(config.values['socket.congestion']).startsWith(PACED);
}

/** The congestion control that a near peer gets, by its name in the kernel. */
export function nearCongestion(setting: string): string {
  return congestionHere(setting).begin || kernelCongestion();
}
