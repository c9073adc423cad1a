// What the machine is like at this moment. On a virtual machine it changes by the second: its cores
// move between sockets of the host, its cache and memory are shared with neighbours. Two tables can
// be compared when these figures are alike.

import { COLD_BYTES, measureCopies, WARM_BYTES } from './copy-rate.js';
import { ThreadPair } from './thread-pair.js';

export interface MachineState {
  /** From the store of one thread to the load of another, one way; the kernel places them. */
  readonly coreToCoreNs: number;
  /** One core, in pieces as a kernel copies them: memory that no cache holds, and that one does. */
  readonly coldCopyGBps: number;
  readonly warmCopyGBps: number;
}

const ANYWHERE = { first: [], second: [] } as const;

export async function measureMachine(): Promise<MachineState> {
  const pair = new ThreadPair();
  try {
    return {
      coreToCoreNs: await pair.coreTripNs(ANYWHERE),
      coldCopyGBps: measureCopies(COLD_BYTES),
      warmCopyGBps: measureCopies(WARM_BYTES),
    };
  } finally {
    await pair.close();
  }
}

export function formatMachine(states: readonly MachineState[]): string {
  const range = (figures: readonly number[], digits: number): string => {
    const least = Math.min(...figures).toFixed(digits);
    const most = Math.max(...figures).toFixed(digits);
    return least === most ? least : `${least} … ${most}`;
  };
  const ns = states.map(({ coreToCoreNs }) => coreToCoreNs);
  const cold = states.map(({ coldCopyGBps }) => coldCopyGBps);
  const warm = states.map(({ warmCopyGBps }) => warmCopyGBps);
  return (
    `core to core ${range(ns, 0)} ns; one core copies ${range(cold, 1)} GB/s of 64 MiB, ` +
    `${range(warm, 1)} of 128 KiB`
  );
}
