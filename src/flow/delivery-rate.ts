// How fast a channel delivers, and so how much it may hold. Pure: bytes and times in, bytes out.
//
// A channel that pulls chunks faster than it delivers them hoards work that another could do. Its
// share is therefore bounded to what it delivers in a short time; a slow link then takes few chunks
// and all links finish together.

/** What a channel may hold in flight beyond a round trip, as a time at its own rate. */
const FLIGHT_TARGET_US = 20_000;
/** Chunks that any channel may hold: one on the wire and one behind it. */
const FLIGHT_CHUNKS_MIN = 2;

/**
 * The rate after a sample. Rises at once, falls slowly: a sample from a pause between transfers
 * must not throttle the next one.
 */
export function nextRate(rate: number, sampleBytes: number, sampleUs: number): number {
  if (sampleUs <= 0) return rate;
  const sample = sampleBytes / sampleUs;
  return sample > rate ? sample : rate + (sample - rate) / 16;
}

/** A rate for comparisons with other channels: neither a burst nor a pause moves it far. */
export function nextMeanRate(rate: number, sampleBytes: number, sampleUs: number): number {
  if (sampleUs <= 0) return rate;
  const sample = sampleBytes / sampleUs;
  return rate === 0 ? sample : rate + (sample - rate) / 16;
}

/**
 * Bytes that a channel may hold in flight at this rate (bytes per µs). `roundTripUs`: the least
 * that a chunk took. A flight of one round trip would never show that the path could take more:
 * the rate follows the flight, and the flight the rate. With two it doubles until the path is full.
 */
export function flightLimit(rate: number, roundTripUs: number, chunkBytes: number): number {
  const spareUs = roundTripUs > FLIGHT_TARGET_US ? roundTripUs : FLIGHT_TARGET_US;
  const target = rate * (roundTripUs + spareUs);
  const floor = FLIGHT_CHUNKS_MIN * chunkBytes;
  return target > floor ? target : floor;
}
