// What a client's own transfers moved over each NIC, since it attached: the telemetry of programs
// that have no engine to ask.

import type { Receipt } from '../engine/internal.js';

/** One NIC under one provider. */
export interface RailTotal {
  /** Empty where routing decides; `shm` for none. */
  readonly nic: string;
  readonly provider: Receipt['provider'];
  bytes: number;
  transfers: number;
}

export class RailTotals {
  readonly #totals: RailTotal[] = [];

  add({ provider, channels }: Pick<Receipt, 'provider' | 'channels'>): void {
    const touched = new Set<RailTotal>();
    for (const { nic, bytes } of channels) {
      if (bytes === 0) continue;
      const total = this.#of(provider, nic);
      total.bytes += bytes;
      touched.add(total);
    }
    for (const total of touched) total.transfers++;
  }

  list(): readonly Readonly<RailTotal>[] {
    return this.#totals;
  }

  // A handful at most.
  #of(provider: Receipt['provider'], nic: string): RailTotal {
    const known = this.#totals.find((one) => one.nic === nic && one.provider === provider);
    if (known !== undefined) return known;
    const fresh = { nic, provider, bytes: 0, transfers: 0 };
    this.#totals.push(fresh);
    return fresh;
  }
}
