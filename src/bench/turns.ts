// Contenders of one comparison that take turns within one process, a few iterations at a time:
// whatever slows the machine for a second slows all of them. What they share, the counters of the
// host and the CPU time of the process, is not any one's own then. One that fails ends it for all.

export class Turns {
  readonly #begun: Barrier;
  readonly #over: Barrier;
  readonly #failed: Promise<never>;
  #last: Promise<void>;
  #fail: (error: unknown) => void = () => undefined;

  constructor(contenders: number) {
    this.#begun = new Barrier(contenders);
    this.#over = new Barrier(contenders);
    this.#last = this.#begun.passed;
    this.#failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    // Nobody need be waiting at that moment.
    this.#failed.catch(() => undefined);
  }

  /** A contender is ready. Turns begin when all are. */
  arrive(): void {
    this.#begun.reach();
  }

  /** In the order of the calls. Resolves to what ends the turn. */
  async take(): Promise<() => void> {
    const before = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    await Promise.race([this.#failed, before]);
    return end;
  }

  /** Waits for the others: to tidy up would disturb their last turns. */
  async leave(): Promise<void> {
    this.#over.reach();
    await Promise.race([this.#failed, this.#over.passed]);
  }

  /** A contender will take no more turns: whoever waits for one, now or later, is told why. */
  fail(error: unknown): void {
    this.#fail(error);
  }
}

class Barrier {
  readonly passed: Promise<void>;
  #missing: number;
  #open: () => void = () => undefined;

  constructor(parties: number) {
    this.#missing = parties;
    this.passed = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  reach(): void {
    this.#missing--;
    if (this.#missing === 0) this.#open();
  }
}
