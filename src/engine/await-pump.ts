// Whether anybody awaits something. Where callers drive, somebody who awaits is driven from the
// event loop, turn after turn.

export interface AwaitPumpOptions {
  /** Nobody else moves data. */
  readonly isCallerDriven: boolean;
  poll(): void;
  /** Somebody awaits something, or nobody any more. */
  onAwaited?(isAwaited: boolean): void;
}

export class AwaitPump {
  readonly #options: AwaitPumpOptions;
  #awaiting = 0;
  #isPumping = false;

  constructor(options: AwaitPumpOptions) {
    this.#options = options;
  }

  begin(): void {
    if (this.#awaiting++ === 0) this.#options.onAwaited?.(true);
    if (!this.#options.isCallerDriven || this.#isPumping) return;
    this.#isPumping = true;
    const pump = (): void => {
      this.#options.poll();
      if (this.#awaiting > 0) setImmediate(pump);
      else this.#isPumping = false;
    };
    setImmediate(pump);
  }

  end(): void {
    if (--this.#awaiting === 0) this.#options.onAwaited?.(false);
  }
}
