// Agents that other hosts have pushed to the listener without being asked: how many, and how many
// regions, each host may leave here. The listener's protocol proves nothing, so a host is all that
// is known of a sender.

import { at } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';

export interface PushLimits {
  readonly peersPerHost: number;
  readonly regionsPerHost: number;
}

export interface PushedPeer {
  readonly name: string;
  readonly origin: string;
  readonly regionCount: number;
}

export class PushedPeers<P extends PushedPeer> {
  readonly #limits: PushLimits;
  /** By origin; oldest first. */
  readonly #byOrigin = new Map<string, Set<P>>();

  constructor(limits: PushLimits) {
    this.#limits = limits;
  }

  /** Refuses a name more than a host may push. */
  checkRoom(origin: string, name: string): void {
    const count = this.#byOrigin.get(origin)?.size ?? 0;
    const { peersPerHost } = this.#limits;
    if (count < peersPerHost) return;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `push of ${name}: ${origin} has pushed ${count} agents, nixl.pushedPerHostMax allows no more`,
      { facts: { agent: name, origin, limit: peersPerHost } },
    );
  }

  /** Refuses regions more than a host may push; of an agent that the program asked for, never. */
  checkRegions(peer: P, more: number): void {
    const pushed = this.#byOrigin.get(peer.origin);
    if (pushed?.has(peer) !== true) return;
    let count = more;
    for (const { regionCount } of pushed) count += regionCount;
    const { regionsPerHost } = this.#limits;
    if (count <= regionsPerHost) return;
    throw new TcpxError(
      'ERR_WIRE_LIMIT',
      `push of ${peer.name}: ${count} regions from ${peer.origin}, ` +
        `nixl.pushedRegionsMax allows ${regionsPerHost}`,
      { facts: { agent: peer.name, origin: peer.origin, limit: regionsPerHost } },
    );
  }

  add(peer: P): void {
    const pushed = this.#byOrigin.get(peer.origin) ?? new Set();
    this.#byOrigin.set(peer.origin, pushed.add(peer));
  }

  /** It is gone, or the program has asked for it since. */
  delete(peer: P): void {
    const pushed = this.#byOrigin.get(peer.origin);
    if (pushed?.delete(peer) === true && pushed.size === 0) this.#byOrigin.delete(peer.origin);
  }

  /** The oldest of the host that has pushed most; undefined where nobody has. */
  oldestOfBusiest(): P | undefined {
    const [busiest] = [...this.#byOrigin.values()].sort((a, b) => b.size - a.size);
    return busiest === undefined ? undefined : at([...busiest], 0);
  }
}
