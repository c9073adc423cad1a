// What the NICs of this end have taken in, looked at around single transfers. Reading a driver's
// statistics takes longer than a small transfer, so it is done now and then: a receipt in between
// says that its NICs are not judged, not that they are good.

import { type DevmemVerdict, judgeDevmem, type NicIntake } from './devmem-verdict.js';

const BETWEEN_LOOKS_MS = 100;

export interface IntakeSource {
  /** By NIC: what came in through the channels since the provider was opened. */
  receivedBytes(): ReadonlyMap<string, number>;
  /** By NIC, of those that count. */
  devmemPackets(nics: readonly string[]): ReadonlyMap<string, number>;
  nowMs(): number;
}

/** The NICs at some moment. */
export type Intake = readonly NicIntake[];

export class IntakeWatch {
  readonly #source: IntakeSource;
  readonly #isHostRecv: boolean;
  #last: Intake | undefined;
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(source: IntakeSource, isHostRecv: boolean) {
    this.#source = source;
    this.#isHostRecv = isHostRecv;
  }

  /** Now, by system calls. */
  look(): Intake {
    const received = this.#source.receivedBytes();
    const packets = this.#source.devmemPackets([...received.keys()]);
    return [...received].map(([nic, bytes]) => ({ nic, bytes, packets: packets.get(nic) ?? -1 }));
  }

  /** Before data is received: the last look, whenever it was; the first one is made here. */
  mark(): Intake {
    this.#last ??= this.look();
    return this.#last;
  }

  /** After it was: since the look that `mark` gave. */
  judge(mark: Intake): DevmemVerdict {
    const nowMs = this.#source.nowMs();
    if (nowMs - this.#lookedMs < BETWEEN_LOOKS_MS) {
      return unjudged(mark, `NICs are looked at every ${BETWEEN_LOOKS_MS} ms at most`);
    }
    this.#lookedMs = nowMs;
    this.#last = this.look();
    return judgeDevmem(mark, this.#last, this.#isHostRecv);
  }
}

/** Neither good nor bad: nobody has looked. */
export function unjudged(nics: readonly { readonly nic: string }[], reason: string): DevmemVerdict {
  const unknown = { bytes: -1, packets: -1, verdict: 'unknown', reason } as const;
  return {
    verdict: 'unknown',
    packets: -1,
    reason,
    nics: nics.map(({ nic }) => ({ nic, ...unknown })),
  };
}
