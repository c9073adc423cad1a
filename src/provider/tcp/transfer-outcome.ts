// What a finished transfer came to, read from its entry before that is used again.

import { FAIL_CANCELLED, FAIL_CHANNEL } from '../../base/failure.js';
import type { Outcome, Posted } from '../contract.js';
import { type ChannelReceipt, isStagedPath } from '../receipt.js';
import type { LaneSession } from './lane-carrier.js';
import type { TransferTable } from './transfer-table.js';

/** `hasNotice`: a notification goes with it. */
export function outcomeOf(
  table: TransferTable,
  posted: Posted<LaneSession>,
  hasNotice: boolean,
  failure: number,
): Outcome {
  const { slot, path, session } = posted;
  const { nics, plan } = session.facts;
  const channels: ChannelReceipt[] = [];
  for (let channel = 0; channel < plan.count; channel++) {
    const chunks = table.channelChunks(slot, channel);
    if (chunks === 0) continue;
    const bytes = table.channelBytes(slot, channel);
    channels.push({ channel, nic: nics[channel] ?? '', bytes, chunks });
  }
  const damaged = table.damaged(slot);
  const isLate = failure === FAIL_CANCELLED && isWhole(table, posted, hasNotice, channels);
  // Of a session that is lost, nobody has confirmed that nothing lands any more.
  const isUnfenced = failure === FAIL_CHANNEL || (failure === FAIL_CANCELLED && !isLate);
  return {
    failure: isLate ? 0 : failure,
    channels,
    stages: isStagedPath(path) ? table.stageTimes(slot) : undefined,
    retries: table.retries(slot),
    damaged: damaged.count,
    damagedWhere: damaged.count === 0 ? '' : placeOf(damaged.channel, nics),
    sessionError: isUnfenced ? session.error : undefined,
  };
}

// Everything had landed, and was confirmed, before the cancel could stop anything.
function isWhole(
  table: TransferTable,
  { slot, chunks, bytes }: Posted<LaneSession>,
  hasNotice: boolean,
  channels: readonly ChannelReceipt[],
): boolean {
  const confirmed = channels.reduce((sum, channel) => sum + channel.bytes, 0);
  if (chunks > 0 && confirmed !== bytes) return false;
  return !hasNotice || table.isNotified(slot);
}

function placeOf(channel: number, nics: readonly string[]): string {
  const nic = nics[channel] ?? '';
  return `channel ${channel}, NIC ${nic === '' ? 'by routing' : nic}`;
}
