// What the main threads of two lane ends do when a channel has ended at both.

import assert from 'node:assert/strict';
import {
  COMMAND_RETRY,
  COMMAND_SETTLE_CHANNEL,
  DOWN_EVENT_WORDS,
  EVENT_CHANNEL_DOWN,
  EVENT_RETRY,
  LOSS_DAMAGED,
} from '../../src/provider/tcp/lane/messages.js';
import type { LaneEnd, LaneEvent } from './lane-end.js';
import type { LanePair } from './lane-pair.js';

function down(end: LaneEnd): LaneEvent {
  const [event] = end.eventsOf(EVENT_CHANNEL_DOWN);
  assert.ok(event !== undefined, 'the end of the channel is reported');
  return event;
}

/** What the main threads do: each end's word settles the other. */
export function exchangeFences(pair: LanePair): void {
  for (const [from, to] of [
    [pair.a, pair.b],
    [pair.b, pair.a],
  ] as const) {
    const words = down(from).words;
    const [session = 0, channel = 0, epoch = 0, loss = 0] = words;
    const isDamaged = loss === LOSS_DAMAGED ? 1 : 0;
    const fence = [session, channel, epoch, words[6] ?? 0, isDamaged, words[7] ?? 0];
    to.command(COMMAND_SETTLE_CHANNEL, [...fence, ...words.slice(DOWN_EVENT_WORDS)]);
  }
}

/** The chunks that a fence has handed back go on; returns how many. */
export function resend(end: LaneEnd): number {
  const events = end.eventsOf(EVENT_RETRY);
  for (const event of events) end.command(COMMAND_RETRY, event.words.slice(0, 3));
  return events.length;
}
