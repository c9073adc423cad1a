// What a channel may hold in flight where each channel has a NIC of its own: so much that all of
// them finish together. Pure: numbers in, bytes out.
//
// A channel that claims whatever it delivers in a while takes a transfer that is smaller than that
// whole, and the other NICs stand idle. So of all that is under way, unclaimed bytes included, each
// holds what its rate is of the sum of the rates.

/** Float64 from one channel of a session to the next; see SESSION_BLOCK. */
export const LINK_FLOATS = 8;
/** Bytes per µs: 0 where there is no channel. */
export const LINK_RATE = 0;
export const LINK_FLIGHT = 1;
/** In place of the rate: the channel is there, and has delivered nothing yet. */
export const RATE_UNKNOWN = -1;

/** Bytes in flight with which channel `own` has its share; `first`: where the session begins. */
export function fairFlight(
  links: Float64Array,
  first: number,
  count: number,
  own: number,
  unclaimedBytes: number,
): number {
  let bytes = unclaimedBytes;
  let fastest = 0;
  for (let channel = 0; channel < count; channel++) {
    const rate = links[first + channel * LINK_FLOATS + LINK_RATE]!;
    if (rate > fastest) fastest = rate;
    if (rate !== 0) bytes += links[first + channel * LINK_FLOATS + LINK_FLIGHT]!;
  }
  // One that is not known counts as good as the best: it is known after its first chunk.
  const guess = fastest === 0 ? 1 : fastest;
  let sum = 0;
  for (let channel = 0; channel < count; channel++) {
    const rate = links[first + channel * LINK_FLOATS + LINK_RATE]!;
    sum += rate === RATE_UNKNOWN ? guess : rate;
  }
  const rate = links[first + own * LINK_FLOATS + LINK_RATE]!;
  return (bytes * (rate === RATE_UNKNOWN ? guess : rate)) / sum;
}
