// How many operations a channel may have in flight.

/** Operations in flight per direction: the largest window, and the reads of a vector being sent. */
export const FLIGHT_SLOTS = 512;
export const FLIGHT_MASK = FLIGHT_SLOTS - 1;
