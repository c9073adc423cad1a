// How many operations a channel may have in flight, and what stands in place of a chunk there.

/** Operations in flight per direction, a power of two above the largest window. */
export const FLIGHT_SLOTS = 512;
export const FLIGHT_MASK = FLIGHT_SLOTS - 1;

/** In place of a chunk: the notification. */
export const FLIGHT_NOTIFY = -1;
/** In place of a chunk: a notification that waits for the chunks before it. */
export const FLIGHT_HELD = -2;
/** In place of a chunk in flight: it was damaged and goes again, so nothing is confirmed by it. */
export const FLIGHT_AGAIN = -3;
/** In place of a chunk in flight: it was refused, and is not to be counted when it has landed. */
export const FLIGHT_REFUSED = -4;
/** In place of a chunk that was asked for: its transfer has failed, and its bytes are dropped. */
export const FLIGHT_DRAINED = -5;

/** In place of a transfer: a signal that has gone elsewhere. */
export const NO_TRANSFER = -1;
