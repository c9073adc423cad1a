// What the connections of the metadata listener hold together: blobs that are arriving, answers
// that are not taken. Nobody there has proved anything, so there is one bound for all.

import { TcpxError } from '../base/errors.js';

export interface BudgetHolder {
  /** Its host, not its port. */
  readonly origin: string;
  cutOff(error: TcpxError): void;
}

export class ListenerBudget {
  readonly #bytesMax: number;
  /** In the order in which they began to hold something. */
  readonly #held = new Map<BudgetHolder, number>();
  #totalBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get totalBytes(): number {
    return this.#totalBytes;
  }

  /** What `holder` holds now. Beyond the bound somebody is cut off, perhaps the holder itself. */
  set(holder: BudgetHolder, bytes: number): void {
    this.#totalBytes += bytes - (this.#held.get(holder) ?? 0);
    if (bytes === 0) this.#held.delete(holder);
    else this.#held.set(holder, bytes);
    while (this.#totalBytes > this.#bytesMax) this.#makeRoom();
  }

  // An honest blob is over in no time: whoever has been at it longest, from the host that holds
  // most, is the least likely to be one.
  #makeRoom(): void {
    const byHost = new Map<string, number>();
    for (const [{ origin }, bytes] of this.#held) {
      byHost.set(origin, (byHost.get(origin) ?? 0) + bytes);
    }
    const [busiest] = [...byHost].sort(([, a], [, b]) => b - a);
    for (const [holder, bytes] of this.#held) {
      if (holder.origin !== busiest?.[0]) continue;
      this.set(holder, 0);
      holder.cutOff(
        new TcpxError(
          'ERR_WIRE_LIMIT',
          `holds ${bytes} bytes of metadata longest; nixl.listenerBytesMax allows ` +
            `${this.#bytesMax} for all connections`,
          { facts: { bytes, limit: this.#bytesMax } },
        ),
      );
      return;
    }
  }
}
