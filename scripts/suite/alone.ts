// Tests that run after all others, because a crowd on the same two cores has been seen to break
// their limits of times or rates, or because they fill both cores themselves. Parts of paths.

/** They wait for much of their time, and bear one neighbour of their kind. */
export const IN_PAIRS: readonly string[] = [
  '/faults/faults.', // links that fail are noticed within a time, and the rate comes back
  '/service-end.', // the end of a service is noticed within a second
  '/tcpx-silence.', // a plugin that is late is not one that hangs
  '/tcpx-watch.', // what is counted during a run
  '/watch.', // intervals
];

export const ALONE: readonly string[] = [
  '/hostile-server.', // honest peers get through in time
  '/service-posts.', // a hundred thousand posts fill both cores
  '/soak.', // fills both cores
];

export function runsInPairs(path: string): boolean {
  return IN_PAIRS.some((part) => path.includes(part));
}

export function runsAlone(path: string): boolean {
  return ALONE.some((part) => path.includes(part));
}
