// Tests that run one at a time, after all others: they hold times or rates against limits that a
// neighbour on the same two cores would break, or fill both cores themselves.

/** Parts of paths. */
export const ALONE: readonly string[] = [
  '/faults.test.', // links that fail are noticed within a time, and the rate comes back
  '/futex.', // a wait that must not wait
  '/hostile-server.', // honest peers get through in time
  '/incast.', // fair shares
  '/node-versions.', // a suite in itself
  '/silent-control.', // what is noticed, and what is no alarm
  '/slow-path.', // time over a slow path
  '/steady-state.', // the collector hardly runs
  '/striping.', // rates of links
  '/tcpx-faults.', // a plugin that is late is not one that hangs
  '/tcpx-watch.', // what is counted during a run
  '/watch.', // intervals
];

export function runsAlone(path: string): boolean {
  return ALONE.some((part) => path.includes(part));
}
