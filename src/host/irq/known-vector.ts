// An interrupt vector as plans and journals keep it: by PCI address and index, since its number may
// differ after a boot or a reset. Pure.

import type { Nic } from '../read/model.js';

export interface KnownVector {
  /** The number at the time of writing. */
  readonly irq: number;
  readonly nic: string;
  readonly pciAddress: string | undefined;
  readonly vectorIndex: number;
  readonly vectorName: string | undefined;
  /** What it serves, for people. */
  readonly queue: string;
}

/** The number that the vector has now: by PCI address and index, else the one kept. */
export function currentIrq(vector: KnownVector, nics: readonly Nic[]): number | undefined {
  if (vector.pciAddress === undefined) return vector.irq;
  const nic = nics.find((candidate) => candidate.pciAddress === vector.pciAddress);
  return nic?.vectors.find(({ index }) => index === vector.vectorIndex)?.irq;
}
