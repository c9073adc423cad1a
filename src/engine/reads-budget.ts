// What the reads of peers may take here: each session brings channels with a window, and for each
// chunk of it a table of places may wait. Known when the session is made, so bounded there.

import { TcpxError } from '../base/errors.js';
import { placeBytes } from '../provider/tcp/lane/served-reads.js';
import type { Agreement } from '../wire/control-frame.js';

/** Refuses a session whose reads, with those of the others, could take more than `bytesMax`. */
export function checkReadsBudget(wanted: Agreement, othersBytes: number, bytesMax: number): void {
  const bytes = othersBytes + readsBytes(wanted);
  if (bytes <= bytesMax) return;
  const what = `${wanted.channels} channels with a window of ${wanted.windowChunks}`;
  throw new TcpxError(
    'ERR_WIRE_LIMIT',
    `${what}: reads of all sessions could take ${bytes} bytes, ` +
      `memory.readsBytes allows ${bytesMax}`,
    { facts: { bytes, limit: bytesMax } },
  );
}

/** What the reads of one session's peer could take. */
export function readsBytes({ channels, windowChunks }: Agreement): number {
  return channels * placeBytes(windowChunks);
}
