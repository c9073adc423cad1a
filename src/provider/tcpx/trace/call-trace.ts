// The call trace that a plugin host writes when asked: one line per call into the plugin and per
// step of a chunk. Polls that found nothing are counted, not written. trace-file.ts reads it.
//
//   <line> <µs> <call> <field>=<value> …        17 1234.5 irecv channel=0 chunk=3 tag=4 bytes=…

import { closeSync, openSync, writeSync } from 'node:fs';

export type TraceFields = Readonly<Record<string, string | number>>;

const STDERR = 2;
/** In front of lines that share stderr with others. */
export const TRACE_PREFIX = 'trace ';

export class CallTrace {
  readonly #fd: number;
  readonly #prefix: string;
  readonly #startMs = performance.now();
  #lines = 0;

  /** An empty path writes to stderr. */
  constructor(path: string) {
    this.#fd = path === '' ? STDERR : openSync(path, 'w', 0o644);
    this.#prefix = path === '' ? TRACE_PREFIX : '';
  }

  write(call: string, fields: TraceFields): void {
    const us = ((performance.now() - this.#startMs) * 1000).toFixed(1);
    let line = `${this.#prefix}${++this.#lines} ${us} ${call}`;
    for (const [key, value] of Object.entries(fields)) line += ` ${key}=${value}`;
    // At once: the plugin may end the process in the very next call.
    writeSync(this.#fd, `${line}\n`);
  }

  close(): void {
    if (this.#fd !== STDERR) closeSync(this.#fd);
  }
}
