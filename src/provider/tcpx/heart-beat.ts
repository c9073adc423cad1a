// Whether a plugin process that stands still hangs, or is merely not given a core. Pure: what the
// process has waited for a core comes from outside.

export type BeatVerdict = 'alive' | 'starved' | 'hung';

/** How many times the allowed silence a process gets that waits for a core. */
const STARVED_TIMES = 4;

export class HeartBeat {
  #count = -1;
  #sinceMs = 0;
  /** Taken halfway through the allowed silence. */
  #base: { readonly atMs: number; readonly waitedMs: number | undefined } | undefined;

  /** How long the count has stood still. */
  silentMs(nowMs: number): number {
    return nowMs - this.#sinceMs;
  }

  /** `waitedMs` tells how long the process has waited for a core so far, where that is known. */
  check(
    count: number,
    nowMs: number,
    allowedMs: number,
    waitedMs: () => number | undefined,
  ): BeatVerdict {
    if (count !== this.#count) {
      this.#count = count;
      this.#sinceMs = nowMs;
      this.#base = undefined;
      return 'alive';
    }
    const silentMs = this.silentMs(nowMs);
    if (silentMs > allowedMs / 2) this.#base ??= { atMs: nowMs, waitedMs: waitedMs() };
    if (silentMs <= allowedMs) return 'alive';
    const isPatient = silentMs <= STARVED_TIMES * allowedMs;
    return isPatient && this.#isStarved(nowMs, waitedMs()) ? 'starved' : 'hung';
  }

  // A process that hangs sleeps or computes; one that wants a core waits for it most of the time.
  #isStarved(nowMs: number, waitedMs: number | undefined): boolean {
    const base = this.#base;
    if (base?.waitedMs === undefined || waitedMs === undefined) return false;
    return waitedMs - base.waitedMs > (nowMs - base.atMs) / 2;
  }
}
