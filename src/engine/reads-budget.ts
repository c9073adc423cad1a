// What the reads of peers may take here: each session brings channels with a window, and for each
// chunk of it a table of places may wait. Known when the session is made, so bounded there.

import { TcpxError } from '../base/errors.js';
import { placeBytes } from '../provider/tcp/lane/served-reads.js';
import type { ChannelPlan } from '../provider/tcp/channel-plan.js';
import type { Agreement } from '../wire/control-frame.js';

/** What of a session says how many reads its peer may have asked for. */
export interface ReadsTerms {
  readonly agreement: Pick<Agreement, 'channels' | 'windowChunks'>;
  readonly plan: Pick<ChannelPlan, 'peers'>;
}

/** Refuses a session whose reads, with those of the others, could take more than `bytesMax`. */
export function checkReadsBudget(wanted: ReadsTerms, othersBytes: number, bytesMax: number): void {
  const bytes = othersBytes + readsBytes(wanted);
  if (bytes <= bytesMax) return;
  const what = `${channelsOf(wanted)} channels with a window of ${wanted.agreement.windowChunks}`;
  throw new TcpxError(
    'ERR_WIRE_LIMIT',
    `${what}: reads of all sessions could take ${bytes} bytes, ` +
      `memory.readsBytes allows ${bytesMax}`,
    { facts: { bytes, limit: bytesMax } },
  );
}

/** What the reads of one session's peer could take. */
export function readsBytes(terms: ReadsTerms): number {
  return channelsOf(terms) * placeBytes(terms.agreement.windowChunks);
}

/** Those that were agreed on, and what the peer alone posts on. */
function channelsOf({ agreement, plan }: ReadsTerms): number {
  return agreement.channels + (plan.peers < 0 ? 0 : 1);
}
