// Runs the command of a bundle: its output goes on to the terminal and into the log, signals go to
// it, and a deadline ends it. Ends when the command has ended, also where something that it left
// behind keeps its output open.

import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { withinMs } from '../../base/clock.js';
import type { EnvironmentValues } from '../../host/environment/preset.js';

export interface ChildWish {
  readonly words: readonly string[];
  readonly environment: EnvironmentValues;
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** undefined: it may take as long as it likes. */
  readonly deadlineMs: number | undefined;
  readonly onOutput: (bytes: Buffer) => void;
  readonly onStarted: (pid: number) => void;
}

export interface ChildEnd {
  /** As a shell reports it: 128 + n on a signal, 126 or 127 where it could not start. */
  readonly status: number;
  readonly signal: string | undefined;
  /** Why it never started. */
  readonly failure: string | undefined;
  readonly isTimedOut: boolean;
}

const SIGNAL_STATUS = 128;
const NOT_FOUND_STATUS = 127;
const NOT_STARTED_STATUS = 126;
const KILL_AFTER_MS = 5000;
/** Output that is still in the pipes arrives in this time. */
const DRAIN_MS = 1000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export async function runChild(wish: ChildWish): Promise<ChildEnd> {
  const [program = '', ...rest] = wish.words;
  const child = spawn(program, rest, {
    stdio: ['inherit', 'pipe', 'pipe'],
    env: wish.environment,
  });
  const forward = (signal: NodeJS.Signals) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = endOf(child);
  passOn(child.stdout, wish.stdout, wish);
  passOn(child.stderr, wish.stderr, wish);
  if (child.pid !== undefined) wish.onStarted(child.pid);
  const deadline = startDeadline(child, wish.deadlineMs);
  try {
    const end = await ended;
    await withinMs(closed, DRAIN_MS);
    return { ...end, isTimedOut: deadline.hasPassed() };
  } finally {
    deadline.stop();
    child.stdout.destroy();
    child.stderr.destroy();
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}

function endOf(child: ChildProcess): Promise<Omit<ChildEnd, 'isTimedOut'>> {
  return new Promise((resolve) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const status = error.code === 'ENOENT' ? NOT_FOUND_STATUS : NOT_STARTED_STATUS;
      resolve({ status, signal: undefined, failure: error.code ?? error.message });
    });
    child.once('exit', (code, signal) => {
      const status =
        signal === null ? (code ?? NOT_STARTED_STATUS) : SIGNAL_STATUS + constants.signals[signal];
      resolve({ status, signal: signal ?? undefined, failure: undefined });
    });
  });
}

// A reader that has gone does not end the command: its output still goes into the log.
function passOn(from: Readable, to: Writable, { onOutput }: ChildWish): void {
  from.on('data', onOutput);
  from.pipe(to, { end: false });
  const goOn = () => from.resume();
  to.once('error', goOn);
  from.once('close', () => to.off('error', goOn));
}

function startDeadline(child: ChildProcess, deadlineMs: number | undefined) {
  const timers: NodeJS.Timeout[] = [];
  let isOver = false;
  if (deadlineMs !== undefined) {
    const end = () => {
      isOver = true;
      child.kill('SIGTERM');
      timers.push(setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS));
    };
    timers.push(setTimeout(end, deadlineMs));
  }
  const stop = () => {
    for (const timer of timers) clearTimeout(timer);
  };
  return { hasPassed: () => isOver, stop };
}
