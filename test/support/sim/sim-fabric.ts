// What all plugin processes of a run share: time, handles, delays, and the paths below them.

import type { Random } from '../../../src/base/random.js';
import type { SimChannel } from './sim-channel.js';
import type { SimNetwork } from './sim-network.js';
import type { SimTime } from './sim-time.js';

/** Steps that take time, each up to so many microseconds. */
export interface PluginRules {
  readonly delays: Readonly<Record<'command' | 'post' | 'wire' | 'unpack' | 'start', number>>;
}

/** What can fail when it is asked of a process; a silent join has no end. */
export type PluginFailure = 'joins' | 'silentJoins' | 'maps';

const HANDLE_DIGITS = 256;

export class SimFabric {
  readonly time: SimTime;
  readonly random: Random;
  readonly listening = new Map<string, SimChannel>();
  readonly #network: SimNetwork;
  readonly #rules: PluginRules;
  #handles = 0;
  /** How many of them fail next. */
  readonly failing: Record<PluginFailure, number> = { joins: 0, silentJoins: 0, maps: 0 };
  /** Tells that a promise is broken. */
  readonly fail: (error: Error) => void;

  constructor(
    time: SimTime,
    random: Random,
    network: SimNetwork,
    rules: PluginRules,
    fail: (error: Error) => void,
  ) {
    this.time = time;
    this.random = random;
    this.#network = network;
    this.#rules = rules;
    this.fail = fail;
  }

  delayUs(step: keyof PluginRules['delays']): number {
    return this.random.nextBetween(1, this.#rules.delays[step]);
  }

  soon(step: keyof PluginRules['delays'], act: () => void): void {
    this.time.after(this.delayUs(step), act);
  }

  handle(): string {
    return (++this.#handles).toString(16).padStart(HANDLE_DIGITS, '0');
  }

  isFailing(what: PluginFailure): boolean {
    if (this.failing[what] === 0) return false;
    this.failing[what]--;
    return true;
  }

  /** Nothing fails any more. */
  heal(): void {
    Object.assign(this.failing, { joins: 0, silentJoins: 0, maps: 0 });
  }

  /** From when on the path of a channel carries anything. */
  openUs(from: SimChannel, to: SimChannel): number {
    const index = Number(from.nic.slice(3));
    return this.#network.path(from.process.machine, to.process.machine, index).frozenUs;
  }
}
