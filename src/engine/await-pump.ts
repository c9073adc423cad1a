// Where callers drive, somebody who awaits is driven from the event loop, turn after turn.

export class AwaitPump {
  readonly #isNeeded: boolean;
  readonly #poll: () => void;
  #awaiting = 0;
  #isPumping = false;

  /** `isNeeded`: nobody else moves data. */
  constructor(isNeeded: boolean, poll: () => void) {
    this.#isNeeded = isNeeded;
    this.#poll = poll;
  }

  begin(): void {
    this.#awaiting++;
    if (!this.#isNeeded || this.#isPumping) return;
    this.#isPumping = true;
    const pump = (): void => {
      this.#poll();
      if (this.#awaiting > 0) setImmediate(pump);
      else this.#isPumping = false;
    };
    setImmediate(pump);
  }

  end(): void {
    this.#awaiting--;
  }
}
