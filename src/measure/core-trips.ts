// Two threads that throw a word to and fro and never sleep: how long a store of one core takes to
// reach a load of another. On one core alone a trip takes a time slice.

const TRIPS_MAX = 20_000;
/** Without a second core a trip takes time slices, and few must do. */
const LIMIT_MS = 200;
const ENDED = -1;

/** One way, in nanoseconds. Ends the other thread's part when done. */
export function throwTrips(ball: Int32Array, tripsPerLook: number): number {
  try {
    // The first ones are for the compiler.
    play(ball, tripsPerLook);
    const { trips, spentMs } = play(ball, tripsPerLook);
    return (spentMs / trips / 2) * 1e6;
  } finally {
    Atomics.store(ball, 0, ENDED);
  }
}

function play(ball: Int32Array, tripsPerLook: number): { trips: number; spentMs: number } {
  const beganMs = performance.now();
  let trips = 0;
  let spentMs = 0;
  while (trips < TRIPS_MAX && spentMs < LIMIT_MS) {
    // Asking for the time costs as much as a trip.
    for (let index = 0; index < tripsPerLook; index++) {
      const thrown = Atomics.load(ball, 0) + 1;
      Atomics.store(ball, 0, thrown);
      while (Atomics.load(ball, 0) === thrown);
    }
    trips += tripsPerLook;
    spentMs = performance.now() - beganMs;
  }
  return { trips, spentMs };
}

/** The other end: every odd number is answered by the next, until it is ended. */
export function answerTrips(ball: Int32Array): void {
  for (;;) {
    const seen = Atomics.load(ball, 0);
    if (seen === ENDED) return;
    if ((seen & 1) === 1) Atomics.store(ball, 0, seen + 1);
  }
}
