// Two measuring threads that work on one task together, each on the CPUs that it is given.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { TcpxError } from '../base/errors.js';
import { launchUrl } from '../base/launch.js';
import { createFixedMemory, destroyFixedMemory } from '../os/fixed-memory.js';
import { closeStreamListener, openStreamListener } from './loopback-stream.js';
import type { MeasureAnswer, MeasureJob } from './measure-job.js';

/** CPUs of the first and of the second thread; empty lets the kernel choose. */
export interface PairCpus {
  readonly first: readonly number[];
  readonly second: readonly number[];
}

export interface StreamFigure {
  readonly gigabytesPerSecond: number;
  readonly rttUs: number;
}

const TRIPS_PER_LOOK = 100;
/** Where each trip takes two time slices. */
const TRIPS_PER_LOOK_PACKED = 4;
const WORD_BYTES = 4096;

export class ThreadPair {
  readonly #first = openWorker();
  readonly #second = openWorker();

  /** From the store of one thread to the load of the other, one way. */
  async coreTripNs(cpus: PairCpus): Promise<number> {
    const ball = new Int32Array(new SharedArrayBuffer(4));
    const isPacked = cpus.first.length === 1 && cpus.first[0] === cpus.second[0];
    const tripsPerLook = isPacked ? TRIPS_PER_LOOK_PACKED : TRIPS_PER_LOOK;
    const jobs = [
      { kind: 'throw trips', ball, tripsPerLook },
      { kind: 'answer trips', ball },
    ] as const;
    const [figure] = await this.#run(jobs, cpus);
    return figure;
  }

  /** From the call that wakes a sleeping thread to its first instruction. */
  async wakeUs(cpus: PairCpus): Promise<number> {
    const memory = createFixedMemory(WORD_BYTES, { isPopulated: true });
    const { addr, bytes } = memory;
    try {
      const jobs = [
        { kind: 'throw wakes', addr, bytes },
        { kind: 'answer wakes', addr, bytes },
      ] as const;
      const [figure] = await this.#run(jobs, cpus);
      return figure;
    } finally {
      destroyFixedMemory(memory);
    }
  }

  /** One TCP stream over loopback from the first thread to the second. */
  async stream(congestion: string, cpus: PairCpus): Promise<StreamFigure> {
    const listener = openStreamListener(congestion);
    try {
      const jobs = [
        { kind: 'send stream', port: listener.port, congestion },
        { kind: 'receive stream', listenerFd: listener.fd },
      ] as const;
      const [rttUs, gigabytesPerSecond] = await this.#run(jobs, cpus);
      return { gigabytesPerSecond, rttUs };
    } finally {
      closeStreamListener(listener);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#first.terminate(), this.#second.terminate()]);
  }

  async #run(jobs: readonly [MeasureJob, MeasureJob], cpus: PairCpus): Promise<[number, number]> {
    const answers = [
      ask(this.#first, jobs[0], cpus.first),
      ask(this.#second, jobs[1], cpus.second),
    ] as const;
    // Where one fails, the other still has to end: its answer must not be taken for a later one.
    await Promise.allSettled(answers);
    return await Promise.all(answers);
  }
}

function openWorker(): Worker {
  return new Worker(launchUrl('measure/measure-worker.js'));
}

async function ask(worker: Worker, job: MeasureJob, cpus: readonly number[]): Promise<number> {
  worker.postMessage({ job, cpus });
  const [answer] = (await once(worker, 'message')) as [MeasureAnswer];
  if ('figure' in answer) return answer.figure;
  throw new TcpxError('ERR_SYS_CALL', `measure, ${job.kind}: ${answer.error}`);
}
