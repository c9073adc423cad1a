// How many operations a channel may have in flight.

/** Operations in flight per direction, a power of two above the largest window. */
export const FLIGHT_SLOTS = 512;
export const FLIGHT_MASK = FLIGHT_SLOTS - 1;
