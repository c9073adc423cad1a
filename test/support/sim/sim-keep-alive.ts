// As the kernel does with keep-alive questions on a quiet connection: see os/keep-alive.ts.

import { probeSeconds } from '../../../src/os/keep-alive.js';
import type { SimPort } from './sim-connection.js';
import type { SimTime } from './sim-time.js';

/** Asks again and again while the connection is open; tells the errno of one that is dead. */
export function keepAsking(
  time: SimTime,
  port: SimPort,
  silentMs: number,
  isOpen: () => boolean,
  lose: (reason: string) => void,
): void {
  const silentUs = silentMs * 1000;
  let heardUs = time.nowUs;
  const ask = (): void => {
    if (!isOpen()) return;
    if (!isPortSilent(port)) {
      heardUs = time.nowUs;
      // Nobody there knows the connection.
      if (port.connection.other(port).isClosed) lose('ECONNRESET');
    } else if (time.nowUs - heardUs >= silentUs) {
      lose('ETIMEDOUT');
    }
    time.after(probeSeconds(silentMs) * 1e6, ask);
  };
  time.after(probeSeconds(silentMs) * 1e6, ask);
}

/** Nothing passes, in one direction or both, and nobody is told. */
export function isPortSilent({ out, into }: SimPort): boolean {
  return out.isFrozen || into.isFrozen;
}
