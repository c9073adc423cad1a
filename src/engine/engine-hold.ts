// Whether the process stays for the sake of an engine: while the engine wants it, while somebody
// awaits something of it, and while a session was told to hold it.

export class EngineHold {
  readonly #apply: (isHeld: boolean) => void;
  readonly #sessions = new Set<object>();
  #isWanted = true;
  #isAwaited = false;
  #isHeld = true;

  /** `apply` is told of changes alone; at first it is held. */
  constructor(apply: (isHeld: boolean) => void) {
    this.#apply = apply;
  }

  setWanted(isWanted: boolean): void {
    this.#isWanted = isWanted;
    this.#update();
  }

  setAwaited(isAwaited: boolean): void {
    this.#isAwaited = isAwaited;
    this.#update();
  }

  setSession(session: object, isHolding: boolean): void {
    if (isHolding) this.#sessions.add(session);
    else this.#sessions.delete(session);
    this.#update();
  }

  #update(): void {
    const isHeld = this.#isWanted || this.#isAwaited || this.#sessions.size > 0;
    if (isHeld === this.#isHeld) return;
    this.#isHeld = isHeld;
    this.#apply(isHeld);
  }
}
