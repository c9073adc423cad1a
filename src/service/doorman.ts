// The thread that watches the service's sockets, seen from the main thread.

import { Worker } from 'node:worker_threads';
import { launchUrl } from '../base/launch.js';
import type { ControlSet } from '../os/control-set.js';
import { closeDoorbell, createDoorbell, ringDoorbell } from '../os/readiness.js';
import { WakePipe } from '../os/wake-pipe.js';
import type { DoormanData } from './doorman-worker.js';

export class Doorman {
  readonly #worker: Worker;
  readonly #pipe: WakePipe;
  readonly #stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #doorbellFd = createDoorbell();
  readonly #ended: Promise<void>;

  /** `onReady` is called in the event loop when some socket of the set has something. */
  constructor(set: ControlSet, onReady: () => void) {
    this.#pipe = new WakePipe(onReady);
    const workerData: DoormanData = {
      setFd: set.fd,
      wakeFd: this.#pipe.writeFd,
      doorbellFd: this.#doorbellFd,
      stop: this.#stop.buffer,
    };
    this.#worker = new Worker(launchUrl('service/doorman-worker.js'), { workerData });
    this.#ended = new Promise((resolve) => this.#worker.once('exit', () => resolve()));
  }

  /** Before the set is closed. */
  async close(): Promise<void> {
    Atomics.store(this.#stop, 0, 1);
    ringDoorbell(this.#doorbellFd);
    await this.#ended;
    this.#pipe.close();
    closeDoorbell(this.#doorbellFd);
  }
}
