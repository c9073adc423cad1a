// The test files that run, each a child of this process: what they cost, and an end to those that
// do not end. We end files ourselves, because the release of Node decides whether `--test-timeout`
// ends a file or a single test.

import { readFileSync, statSync } from 'node:fs';

const LOOK_EVERY_MS = 250;
/** Linux counts CPU time in ticks of 10 ms. */
const TICKS_PER_SECOND = 100;

export class FileWatch {
  /** Lines about files that were killed. */
  readonly killed: string[] = [];
  readonly #fileMsMax: number;
  /** CPU seconds as they were last seen, of processes that have ended too. */
  readonly #seconds = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(fileMsMax: number) {
    this.#fileMsMax = fileMsMax;
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Those that took most, with their children; what they took since the last look is missing. */
  dearest(count: number): (readonly [file: string, seconds: number])[] {
    return [...this.#seconds].sort(([, left], [, right]) => right - left).slice(0, count);
  }

  #look(): void {
    const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
    for (const pid of children.split(' ').filter(Boolean)) {
      const stat = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
      const file = stat === undefined ? undefined : fileOf(pid);
      if (stat === undefined || file === undefined) continue;
      this.#seconds.set(file, cpuSecondsOf(pid));
      if (Date.now() - stat.ctimeMs < this.#fileMsMax) continue;
      process.kill(Number(pid), 'SIGKILL');
      this.killed.push(`${file}: killed, because it has not ended after ${this.#fileMsMax} ms`);
    }
  }
}

/** Of a process and of all its descendants that have ended. */
export function cpuSecondsOf(pid: number | string): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command in brackets may hold spaces; behind it utime is the 12th, three more follow.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  return ticks / TICKS_PER_SECOND;
}

/** Of a child that is a test file or a group of them; undefined for others and where it is gone. */
function fileOf(pid: string): string | undefined {
  const last = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').at(-2);
  return last !== undefined && /\.test\.js$|\.mjs$/.test(last) ? last : undefined;
}
