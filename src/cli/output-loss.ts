// What becomes of a command when stdout or stderr takes no more. A reader that has gone (`| head`)
// has seen enough: the command goes on in silence, and one that would go on for ever ends. Anything
// else, such as a full disk, is a failure at run time.

import { ExitCode } from './exit-code.js';
import { printNote } from './print.js';

const loss = new AbortController();

/** Aborted once stdout or stderr is lost: nobody looks any more. */
export const outputLost: AbortSignal = loss.signal;

/** A stream's error that nobody listens to would end the process with a stack trace. */
export function watchOutput(): void {
  const streams = [process.stdout, process.stderr] as const;
  for (const stream of streams) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (loss.signal.aborted) return;
      loss.abort();
      if (error.code === 'EPIPE') return;
      process.exitCode = ExitCode.RunTime;
      if (stream === process.stdout) printNote(`ERR_SYS_CALL: write to stdout: ${error.code}`);
    });
  }
}
