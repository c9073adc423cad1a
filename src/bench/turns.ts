// Contenders of one comparison that take turns within one process, a few iterations at a time:
// whatever slows the machine for a second slows all of them.

export class Turns {
  #missing: number;
  #begin: () => void = () => undefined;
  #last: Promise<void>;

  constructor(contenders: number) {
    this.#missing = contenders;
    this.#last = new Promise((resolve) => {
      this.#begin = resolve;
    });
  }

  /** A contender is ready, or never will be. Turns begin when all have said so. */
  arrive(): void {
    this.#missing--;
    if (this.#missing === 0) this.#begin();
  }

  /** In the order of the calls. Resolves to what ends the turn. */
  async take(): Promise<() => void> {
    const before = this.#last;
    let end: () => void = () => undefined;
    this.#last = new Promise((resolve) => {
      end = resolve;
    });
    await before;
    return end;
  }
}
