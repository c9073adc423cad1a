// A measuring thread: takes jobs by message, one at a time, and answers with a figure.

import { parentPort } from 'node:worker_threads';
import { assert } from '../base/assert.js';
import { getThreadAffinity } from '../ffi/libc/cpu-affinity.js';
import { pinThread } from '../os/thread.js';
import { answerTrips, throwTrips } from './core-trips.js';
import { receiveStream, sendStream } from './loopback-stream.js';
import type { MeasureAnswer, MeasureJob, PinnedJob } from './measure-job.js';
import { answerWakes, throwWakes } from './wake-trips.js';

/** Where the process may run: a job without CPUs of its own undoes the pinning of the last one. */
const ALLOWED = getThreadAffinity();

const port = parentPort;
assert(port !== null, 'runs as a worker');
port.on('message', ({ job, cpus }: PinnedJob) => {
  let answer: MeasureAnswer;
  try {
    pinThread(cpus.length > 0 ? cpus : ALLOWED);
    answer = { figure: run(job) };
  } catch (error) {
    answer = { error: error instanceof Error ? error.message : String(error) };
  }
  port.postMessage(answer);
});

function run(job: MeasureJob): number {
  switch (job.kind) {
    case 'throw trips':
      return throwTrips(job.ball, job.tripsPerLook);
    case 'answer trips':
      answerTrips(job.ball);
      return 0;
    case 'throw wakes':
      return throwWakes(job.addr, job.bytes);
    case 'answer wakes':
      answerWakes(job.addr, job.bytes);
      return 0;
    case 'send stream':
      return sendStream(job.port, job.congestion);
    case 'receive stream':
      return receiveStream(job.listenerFd);
  }
}
