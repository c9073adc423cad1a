// An own WRITE that its target refused.

import { type Channel, FLIGHT_AGAIN, FLIGHT_REFUSED } from './channel.js';
import { giveBackFlight } from './chunk-confirmed.hot.js';
import { askAgain } from './damaged-chunk.hot.js';
import type { LaneCore } from './lane-core.js';
import { failTransfer } from './transfer-progress.hot.js';
import { REFUSE_CHECKSUM } from '../../../wire/data-frame.js';

/** An own WRITE in flight was refused; its acknowledgement follows. */
export function refuseFlight(
  core: LaneCore,
  channel: Channel,
  flight: number,
  reason: number,
): void {
  const slot = channel.writeTransfer[flight]!;
  const chunk = channel.writeChunk[flight]!;
  if (chunk < 0) return;
  giveBackFlight(core, channel, slot, chunk);
  if (reason === REFUSE_CHECKSUM) {
    channel.writeChunk[flight] = FLIGHT_AGAIN;
    askAgain(core, channel, slot, chunk);
    return;
  }
  channel.writeChunk[flight] = FLIGHT_REFUSED;
  failTransfer(core, slot, reason);
}
