// Timers that whoever drives the program runs: an event loop, a blocking wait, or a simulation with
// a clock of its own. Nothing fires by itself.

export class Timers {
  readonly #due: { readonly atUs: number; readonly act: () => void }[] = [];

  /** Calls `act` at the first run at or after this time; returns what takes it back. */
  at(atUs: number, act: () => void): () => void {
    const entry = { atUs, act };
    this.#due.push(entry);
    return () => {
      const index = this.#due.indexOf(entry);
      if (index >= 0) this.#due.splice(index, 1);
    };
  }

  get count(): number {
    return this.#due.length;
  }

  /** Calls what is due, oldest first. */
  run(nowUs: number): void {
    if (this.#due.length === 0) return;
    const due = this.#due.filter((entry) => entry.atUs <= nowUs).sort((a, b) => a.atUs - b.atUs);
    for (const entry of due) {
      const index = this.#due.indexOf(entry);
      if (index < 0) continue;
      this.#due.splice(index, 1);
      entry.act();
    }
  }

  clear(): void {
    this.#due.length = 0;
  }
}
