// Values of settings that nobody has set, from what this host has. Pure; the same facts give the
// same values, and each value says why.

import { type Config, isByHand, withAuto } from '../base/config.js';
import type { SettingName } from '../base/settings.js';

export interface TuningFacts {
  /** CPUs that this process may run on. */
  readonly cpus: number;
  /** NICs that were named for data. */
  readonly nics: number;
}

interface Chosen {
  readonly value: number | string;
  readonly reason: string;
}

type ChosenCount = Chosen & { readonly value: number };

/** A lane keeps a core busy, and so does whatever fills or reads the memory that it moves. */
const CPUS_PER_LANE = 2;
/** One lane leaves a core idle while the peer's is full: large transfers gain by a second. */
const LANES_MIN = 2;
/** Eight lanes saturate memory of a 16-core host; more of them cost CPU and gain nothing there. */
const LANES_MAX = 8;
const CHANNELS_MAX = 16;
const PEER_REASON = 'to peers nearer than some milliseconds; more to far ones';
const OWN_REASON = 'for less than 128 KiB that a program posts and polls for, without named NICs';
const WAY_REASON = 'by splice, below 128 KiB by copy, until a session finds the other one faster';

function chooseLanes(config: Config, { cpus, nics }: TuningFacts): ChosenCount {
  if (config.values['lane.progress'] === 'caller') {
    return { value: 1, reason: 'the caller drives one lane' };
  }
  // NICs that are named are links of their own, which one lane serves in turn.
  const least = nics === 0 && cpus >= LANES_MIN ? LANES_MIN : 1;
  const byCpus = Math.max(least, Math.min(LANES_MAX, Math.floor(cpus / CPUS_PER_LANE)));
  const here = `${cpus} CPUs`;
  // All channels of a NIC are one lane's: more lanes than NICs would have none.
  if (nics > 0 && nics < byCpus) return { value: nics, reason: `${here}, ${nics} NICs` };
  return { value: byCpus, reason: here };
}

/**
 * What a transfer to a peer on this host, which has as many lanes here, begins with over paced
 * connections and through shared memory: two of each end on two CPUs cost up to a quarter there.
 */
export function nearLanes(cpus: number): number {
  return Math.max(1, Math.floor(cpus / CPUS_PER_LANE));
}

function chooseChannels(lanes: number, { nics }: TuningFacts): ChosenCount {
  if (nics > 0) return { value: channelsOfNics(nics), reason: `one for each NIC: ${nics}` };
  return { value: Math.min(CHANNELS_MAX, lanes), reason: `one for each lane: ${lanes}` };
}

/** So many, where NICs are named and nobody asks for a number. */
export function channelsOfNics(nics: number): number {
  return Math.min(CHANNELS_MAX, nics);
}

/** One CPU alone cannot look out for what it has to do itself. */
function chooseSpin(config: Config, { cpus }: TuningFacts): ChosenCount {
  if (cpus < 2) return { value: 0, reason: 'one CPU: whoever looks holds up what it waits for' };
  const value = config.values['lane.spinUs'];
  return { value, reason: 'at most; less where nothing comes within that time' };
}

/** From here on a core that looks for a millisecond is missed by nobody. */
const CPUS_TO_SPARE = 8;
/** A turn of 1 MiB with its copies: whoever sleeps within it is woken at every step. */
const SERVED_SPIN_US = 1000;

/** The same for the engine of a service's client, which mostly has its peers and program here. */
export function tuneServed(config: Config, { cpus, nics }: TuningFacts): Config {
  if (config.values['lane.progress'] === 'caller') return config;
  const byCpus = Math.min(LANES_MAX, nearLanes(cpus));
  const lanes = nics > 0 ? Math.min(nics, byCpus) : byCpus;
  const reason = `one of a service’s engines, ${cpus} CPUs`;
  let tuned = withAuto(config, 'lane.count', lanes, reason);
  tuned = withAuto(tuned, 'lane.own', cpus < CPUS_TO_SPARE ? 'off' : 'on', reason);
  if (cpus < CPUS_TO_SPARE) return tuned;
  return withAuto(tuned, 'lane.spinUs', SERVED_SPIN_US, `at most; ${cpus} CPUs have one to spare`);
}

/** Whether the thread that posts has a lane of its own. Named NICs have lanes of theirs. */
export function hasOwnLane({ values }: Config, { nics }: Pick<TuningFacts, 'nics'>): boolean {
  const isWanted = values['lane.own'] !== 'off' && values['lane.progress'] === 'lanes';
  return isWanted && nics === 0;
}

function chooseServiceSpin(config: Config, { cpus }: TuningFacts): ChosenCount {
  const value = cpus < CPUS_TO_SPARE ? config.values['service.spinUs'] : SERVED_SPIN_US;
  return { value, reason: `at most, with ${cpus} CPUs; less where nothing comes in that time` };
}

/** Names of another system, which say themselves whose window they mean. */
const FOREIGN_ORIGIN = 'environment UCCL_';

/** One window is asked for: it is the plugin's too, where that has none of its own. */
export function withPluginWindows(config: Config): Config {
  const asked = config.effective.find(({ name }) => name === 'flow.windowChunks');
  if (!isByHand(config, 'flow.windowChunks') || asked?.origin.startsWith(FOREIGN_ORIGIN) === true) {
    return config;
  }
  const value = config.values['flow.windowChunks'];
  const reason = 'as flow.windowChunks, which is set';
  const sending = withAuto(config, 'tcpx.sendWindow', value, reason);
  return withAuto(sending, 'tcpx.recvWindow', value, reason);
}

/** What was set by hand stays; what was not has a value for this host and `auto` as its origin. */
export function tune(config: Config, facts: TuningFacts): Config {
  const lanes = chooseLanes(config, facts);
  const tuned = withAuto(config, 'lane.count', lanes.value, lanes.reason);
  const channels = chooseChannels(tuned.values['lane.count'], facts);
  const spin = chooseSpin(config, facts);
  const { values } = config;
  const chosen: readonly (readonly [SettingName, Chosen])[] = [
    ['flow.channels', channels],
    ['lane.spinUs', spin],
    ['lane.own', { value: config.values['lane.own'] === 'off' ? 'off' : 'on', reason: OWN_REASON }],
    ['service.spinUs', chooseServiceSpin(config, facts)],
    ['flow.chunkBytes', { value: values['flow.chunkBytes'], reason: PEER_REASON }],
    ['flow.windowChunks', { value: values['flow.windowChunks'], reason: PEER_REASON }],
    ['socket.sendBy', { value: values['socket.sendBy'], reason: WAY_REASON }],
  ];
  let all = withPluginWindows(tuned);
  for (const [name, { value, reason }] of chosen) all = withAuto(all, name, value, reason);
  return all;
}
