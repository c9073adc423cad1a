// An own WRITE that its target refused.

import { FAIL_CHECKSUM } from '../../../base/failure.js';
import type { Channel } from './channel.js';
import { giveBackFlight } from './chunk-confirmed.hot.js';
import { askAgain } from './damaged-chunk.hot.js';
import { FLIGHT_AGAIN, FLIGHT_REFUSED } from './flight.js';
import type { LaneCore } from './lane-core.js';
import { markWrite } from './own-writes.hot.js';
import { failTransfer } from './transfer-progress.hot.js';

/** An own WRITE in flight was refused; its acknowledgement follows. */
export function refuseFlight(
  core: LaneCore,
  channel: Channel,
  flight: number,
  reason: number,
): void {
  const { writes } = channel;
  const slot = writes.transfer[flight]!;
  const chunk = writes.chunk[flight]!;
  if (chunk < 0) return;
  giveBackFlight(core, channel, slot, chunk);
  if (reason === FAIL_CHECKSUM) {
    markWrite(writes, flight, FLIGHT_AGAIN);
    askAgain(core, channel, slot, chunk);
    return;
  }
  markWrite(writes, flight, FLIGHT_REFUSED);
  failTransfer(core, slot, reason);
}
