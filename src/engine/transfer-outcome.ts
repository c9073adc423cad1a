// What a finished transfer came to, read from its entry before that is used again.

import { FAIL_CANCELLED, FAIL_CHANNEL } from '../base/failure.js';
import type { ChannelReceipt } from './receipt.js';
import type { TransferOutcome } from './transfer.js';
import type { InFlight } from './transfer-moves.js';
import { isStagedPath } from './transfer-path.js';
import type { TransferTable } from './transfer-table.js';

export function outcomeOf(table: TransferTable, entry: InFlight, failure: number): TransferOutcome {
  const { facts } = entry.transfer;
  const { slot } = facts;
  const { nics, agreement } = entry.session.facts;
  const channels: ChannelReceipt[] = [];
  for (let channel = 0; channel < agreement.channels; channel++) {
    const chunks = table.channelChunks(slot, channel);
    if (chunks === 0) continue;
    const bytes = table.channelBytes(slot, channel);
    channels.push({ channel, nic: nics[channel] ?? '', bytes, chunks });
  }
  const damaged = table.damaged(slot);
  return {
    failure: isTooLate(table, entry, failure, channels) ? 0 : failure,
    channels,
    stages: isStagedPath(facts.path) ? table.stageTimes(slot) : undefined,
    retries: table.retries(slot),
    damaged: damaged.count,
    damagedWhere: damaged.count === 0 ? '' : placeOf(damaged.channel, nics),
    sessionError: failure === FAIL_CHANNEL ? entry.session.error : undefined,
  };
}

// Everything had landed, and was confirmed, before the cancel could stop anything.
function isTooLate(
  table: TransferTable,
  { transfer, notifyBytes }: InFlight,
  failure: number,
  channels: readonly ChannelReceipt[],
): boolean {
  if (failure !== FAIL_CANCELLED) return false;
  const { slot, chunks, bytes } = transfer.facts;
  const confirmed = channels.reduce((sum, channel) => sum + channel.bytes, 0);
  if (chunks > 0 && confirmed !== bytes) return false;
  return notifyBytes < 0 || table.isNotified(slot);
}

function placeOf(channel: number, nics: readonly string[]): string {
  const nic = nics[channel] ?? '';
  return `channel ${channel}, NIC ${nic === '' ? 'by routing' : nic}`;
}
