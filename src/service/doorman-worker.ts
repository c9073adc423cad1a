// A thread that sleeps on the service's sockets and wakes the main thread, whose event loop cannot
// wait for them: it knows no descriptors that carry others along.

import { workerData } from 'node:worker_threads';
import { Readiness } from '../os/readiness.js';
import { endThread, wakeThread } from '../os/thread.js';

export interface DoormanData {
  readonly setFd: number;
  readonly wakeFd: number;
  readonly doorbellFd: number;
  /** One word: 1 ends the thread, after its doorbell was rung. */
  readonly stop: SharedArrayBuffer;
}

const WAIT_MS = 100;

const data = workerData as DoormanData;
const stop = new Int32Array(data.stop);
const readiness = new Readiness(data.doorbellFd);
readiness.nest(data.setFd);
const ready = {
  onReadable: (): void => undefined,
  onWritable: (): void => undefined,
  onNested: (): void => wakeThread(data.wakeFd),
};
while (Atomics.load(stop, 0) === 0) readiness.wait(WAIT_MS, ready);
readiness.close();
endThread();
