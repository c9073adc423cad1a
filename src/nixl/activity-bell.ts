// Wakes whoever waits for a transfer or a notification. Checking and then waiting happen without a
// pause in between on the one thread that rings, so no ring is missed.

export class ActivityBell {
  #waiters: (() => void)[] = [];

  readonly ring = (): void => {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  };

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push(resolve);
    });
  }
}

/** One turn of the event loop: where a backend cannot ring, waiting is polling. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
