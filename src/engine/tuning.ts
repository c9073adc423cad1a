// Values of settings that nobody has set, from what this host has. Pure; the same facts give the
// same values, and each value says why.

import { type Config, withAuto } from '../base/config.js';

export interface TuningFacts {
  /** CPUs that this process may run on. */
  readonly cpus: number;
  /** NICs that were named for data. */
  readonly nics: number;
}

interface Chosen {
  readonly value: number;
  readonly reason: string;
}

/** A lane keeps a core busy, and so does whatever fills or reads the memory that it moves. */
const CPUS_PER_LANE = 2;
/** Eight lanes saturate memory of a 16-core host; more of them cost CPU and gain nothing there. */
const LANES_MAX = 8;
const CHANNELS_MAX = 16;

function chooseLanes(config: Config, { cpus, nics }: TuningFacts): Chosen {
  if (config.values['lane.progress'] === 'caller') {
    return { value: 1, reason: 'the caller drives one lane' };
  }
  const byCpus = Math.max(1, Math.min(LANES_MAX, Math.floor(cpus / CPUS_PER_LANE)));
  const here = `${cpus} CPUs`;
  // All channels of a NIC are one lane's: more lanes than NICs would have none.
  if (nics > 0 && nics < byCpus) return { value: nics, reason: `${here}, ${nics} NICs` };
  return { value: byCpus, reason: here };
}

function chooseChannels(lanes: number, { nics }: TuningFacts): Chosen {
  if (nics > 0) return { value: channelsOfNics(nics), reason: `one for each of ${nics} NICs` };
  return { value: Math.min(CHANNELS_MAX, lanes), reason: `one for each of ${lanes} lanes` };
}

/** So many, where NICs are named and nobody asks for a number. */
export function channelsOfNics(nics: number): number {
  return Math.min(CHANNELS_MAX, nics);
}

/** What was set by hand stays; what was not has a value for this host and `auto` as its origin. */
export function tune(config: Config, facts: TuningFacts): Config {
  const lanes = chooseLanes(config, facts);
  const tuned = withAuto(config, 'lane.count', lanes.value, lanes.reason);
  const channels = chooseChannels(tuned.values['lane.count'], facts);
  return withAuto(tuned, 'flow.channels', channels.value, channels.reason);
}
