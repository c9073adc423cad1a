// Signals to a process of a mesh: the first one ends it in order and at every node, the next one at
// once; what was bound is put back both ways.

import { constants } from 'node:os';
import { TcpxError } from '../base/errors.js';
import type { Invocation } from './command.js';
import type { MeshPolicy } from './mesh-workplace.js';
import { clearProgress, printNote } from './print.js';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** As shells have it. */
const SIGNAL_STATUS = 128;

interface Signalled {
  /** Resolves with the reason when the first one comes. */
  readonly stopped: Promise<TcpxError>;
  /** Signals end the process again. */
  readonly release: () => void;
}

export function untilSignalled(
  policy: Pick<MeshPolicy, 'end'>,
  { isJson }: Pick<Invocation, 'isJson'>,
): Signalled {
  let stop: ((reason: TcpxError) => void) | undefined;
  const stopped = new Promise<TcpxError>((resolve) => {
    stop = resolve;
  });
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop === undefined) {
      policy.end();
      process.exit(SIGNAL_STATUS + constants.signals[signal]);
    }
    stop(new TcpxError('ERR_XFER_CANCELLED', `mesh: stopped by ${signal}`));
    stop = undefined;
    clearProgress();
    if (!isJson) printNote('stopping; once more ends it at once');
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  const release = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  return { stopped, release };
}
