// A hard end for a process whose one thread may be stuck in foreign code: the kernel's alarm, whose
// signal ends the process unless it is called off.

import { bindFunction } from './library.js';

const alarmC = bindFunction<(seconds: number) => number>(
  'unsigned int alarm(unsigned int seconds)',
);

/** The process is ended after so many seconds; 0 calls it off. */
export function endProcessAfter(seconds: number): void {
  alarmC(seconds);
}
