// What the machine is like at this moment. On a virtual machine it changes by the second: its cores
// move between sockets of the host, its cache and memory are shared with neighbours. Two tables can
// be compared when these figures are alike.

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { copyMemory, createFixedMemory, destroyFixedMemory } from '../../src/os/fixed-memory.js';

export interface MachineState {
  /** From the store of one thread to the load of another, one way. */
  readonly coreToCoreNs: number;
  /** One core, in pieces as a kernel copies them: memory that no cache holds, and that one does. */
  readonly coldCopyGBps: number;
  readonly warmCopyGBps: number;
}

const COLD_BYTES = 64 * 1024 * 1024;
const WARM_BYTES = 128 * 1024;
const PIECE_BYTES = 64 * 1024;
const COPIED_BYTES = 4 * COLD_BYTES;
const TRIPS = 20_000;
const TRIPS_PER_LOOK = 100;
/** Without a second core a trip takes time slices, and few must do. */
const TRIPS_LIMIT_MS = 200;

export async function measureMachine(): Promise<MachineState> {
  return {
    coreToCoreNs: await measureTrips(),
    coldCopyGBps: measureCopies(COLD_BYTES),
    warmCopyGBps: measureCopies(WARM_BYTES),
  };
}

export function formatMachine(states: readonly MachineState[]): string {
  const range = (figures: readonly number[], digits: number): string =>
    `${Math.min(...figures).toFixed(digits)} … ${Math.max(...figures).toFixed(digits)}`;
  const ns = states.map(({ coreToCoreNs }) => coreToCoreNs);
  const cold = states.map(({ coldCopyGBps }) => coldCopyGBps);
  const warm = states.map(({ warmCopyGBps }) => warmCopyGBps);
  return (
    `core to core ${range(ns, 0)} ns; one core copies ${range(cold, 1)} GB/s of 64 MiB, ` +
    `${range(warm, 1)} of 128 KiB`
  );
}

function measureCopies(bytes: number): number {
  const memory = createFixedMemory(2 * bytes, { isPopulated: true });
  copyMemory(memory.addr + bytes, memory.addr, bytes);
  const beganMs = performance.now();
  for (let copied = 0; copied < COPIED_BYTES; copied += PIECE_BYTES) {
    const at = memory.addr + (copied % bytes);
    copyMemory(at + bytes, at, PIECE_BYTES);
  }
  const spentMs = performance.now() - beganMs;
  destroyFixedMemory(memory);
  return COPIED_BYTES / spentMs / 1e6;
}

async function measureTrips(): Promise<number> {
  const ball = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./echo-worker.js', import.meta.url), { workerData: ball });
  await once(worker, 'message');
  // The first ones are for the compiler.
  play(ball);
  const { trips, spentMs } = play(ball);
  Atomics.store(ball, 0, -1);
  await once(worker, 'exit');
  return (spentMs / trips / 2) * 1e6;
}

function play(ball: Int32Array): { trips: number; spentMs: number } {
  const beganMs = performance.now();
  let trips = 0;
  let spentMs = 0;
  while (trips < TRIPS && spentMs < TRIPS_LIMIT_MS) {
    // Asking for the time costs as much as a trip.
    for (let index = 0; index < TRIPS_PER_LOOK; index++) {
      const thrown = Atomics.load(ball, 0) + 1;
      Atomics.store(ball, 0, thrown);
      while (Atomics.load(ball, 0) === thrown);
    }
    trips += TRIPS_PER_LOOK;
    spentMs = performance.now() - beganMs;
  }
  return { trips, spentMs };
}
