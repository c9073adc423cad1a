// A thread that sleeps on a futex word until it changes, then says so by adding to the next word.

import { parentPort, workerData } from 'node:worker_threads';
import { waitFutex } from '../../src/ffi/libc/futex.js';
import { viewMemory } from '../../src/ffi/libc/library.js';

const { addr } = workerData as { readonly addr: number };
const words = new Int32Array(viewMemory(addr, 8));

Atomics.store(words, 1, 1);
let outcome = 0;
while (Atomics.load(words, 0) === 0) outcome = waitFutex(addr, 0, 100);
parentPort?.postMessage(outcome);
