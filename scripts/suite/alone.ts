// Tests that run one at a time, after all others: they hold times or rates against limits that a
// busy neighbour on the same two cores has been seen to break, or fill both cores themselves.

/** Parts of paths. */
export const ALONE: readonly string[] = [
  '/faults/faults.', // links that fail are noticed within a time, and the rate comes back
  '/hostile-server.', // honest peers get through in time
  '/service-end.', // the end of a service is noticed within a second
  '/service-posts.', // a hundred thousand posts fill both cores
  '/soak.', // fills both cores
  '/tcpx-faults.', // a plugin that is late is not one that hangs
  '/tcpx-watch.', // what is counted during a run
  '/watch.', // intervals
];

export function runsAlone(path: string): boolean {
  return ALONE.some((part) => path.includes(part));
}
