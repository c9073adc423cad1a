// A list that was prepared, as programs hold it until they make requests from it.

import { inspect } from 'node:util';
import { wrongArgument } from '../base/argument.js';
import { plural } from '../base/units.js';
import type { MemType } from './memory-type.js';
import type { ResolvedDlist } from './resolved-dlist.js';

/** What the agent has behind it; throws `ERR_USAGE_ARGUMENT` for anything else. */
export let resolvedDlist: (what: string, list: unknown) => ResolvedDlist;

/**
 * A list of ranges, checked once; requests pick from it by index.
 * @example
 * const here = agent.prepXferDlist('', local);
 * const there = agent.prepXferDlist('prefill-0', remote);
 * const request = agent.makeXferReq('READ', here, [0, 1], there, [4, 5]);
 */
export class PreparedDlist {
  static {
    resolvedDlist = (what, list) => {
      if (typeof list === 'object' && list !== null && #resolved in list) return list.#resolved;
      throw wrongArgument(what, 'what prepXferDlist gave', list);
    };
  }

  readonly #resolved: ResolvedDlist;

  /** @internal */
  constructor(resolved: ResolvedDlist) {
    this.#resolved = resolved;
  }

  /** Whether it is memory of this agent or of a peer. */
  get side(): 'initiator' | 'target' {
    return this.#resolved.side;
  }

  /** Whose memory it is; the agent itself on the initiator's side and for loopback. */
  get agent(): string {
    return this.#resolved.peer.name;
  }

  /** Memory that all of it is in. */
  get memType(): MemType {
    return this.#resolved.memType;
  }

  /** Number of ranges. */
  get count(): number {
    return this.#resolved.count;
  }

  /** Whether it was given back. */
  get isReleased(): boolean {
    return this.#resolved.isReleased;
  }

  /** A line: how many ranges, and whose. */
  [inspect.custom](): string {
    const whose = this.side === 'initiator' ? 'of this agent' : `of ${this.agent}`;
    const end = this.isReleased ? ', released' : '';
    return `PreparedDlist { ${plural(this.count, 'range')} ${whose}${end} }`;
  }
}
