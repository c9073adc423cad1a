// The other thread of `measureTrips`: every odd number is answered by the next, until it is ended.

import { parentPort, workerData } from 'node:worker_threads';

const ball = workerData as Int32Array;
parentPort?.postMessage('here');
for (;;) {
  const seen = Atomics.load(ball, 0);
  if (seen < 0) break;
  if ((seen & 1) === 1) Atomics.store(ball, 0, seen + 1);
}
