// When the main thread looks for what lanes and sockets have for it. Lanes wake it by a byte in a
// pipe, which costs both of them a system call; so whoever found something looks once more in the
// next turn of the event loop before it says that it sleeps. What was found mostly brings more: the
// answer to a step of a handshake, the end of a transfer that was posted on the end of another.

export interface MainLookHost {
  /** Handles what is there; how much that was. */
  look(): number;
  /** From now on lanes wake this thread; false: there is something to do first. */
  sleep(): boolean;
  /** A turn of the event loop later: looks again, by `wake`. */
  again(): void;
}

export class MainLook {
  readonly #host: MainLookHost;
  #next: NodeJS.Immediate | undefined;

  constructor(host: MainLookHost) {
    this.#host = host;
  }

  wake(): void {
    // Asleep, then looked once more: nothing falls between.
    if (this.#host.look() > 0 || !this.#host.sleep() || this.#host.look() > 0) this.soon();
  }

  /** Looks again in the next turn of the event loop. */
  soon(): void {
    this.#next ??= setImmediate(() => {
      this.#next = undefined;
      this.#host.again();
    });
  }
}
