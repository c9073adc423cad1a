// Calls in which two numbers can be exchanged: none of those marked below may compile. The compiler
// is the test.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChannelIndex, FlightNumber, TransferNumber, TransferSlot } from '../base/quantity.js';
import type { TransferTable } from './tcp/transfer-table.js';
import type { GuardedPlugin } from './tcpx/child/guarded-plugin.js';
import type { FlightDeck } from './tcpx/flight-deck.js';

type Chunk = Parameters<GuardedPlugin['isend']>[4];

/** A plugin that is given a request where it expects a comm crashes. */
function handles(plugin: GuardedPlugin, chunk: Chunk): void {
  const comm = plugin.connect(0, 0, 4096);
  const mhandle = plugin.register(0, comm, 4096, 64, 1);
  const request = plugin.irecv(0, comm, 4096, mhandle, chunk);
  plugin.consumed(0, comm, request, chunk);
  // @ts-expect-error request and comm
  plugin.consumed(0, request, comm, chunk);
  // @ts-expect-error memory handle and comm
  plugin.deregister(0, mhandle, comm);
  // @ts-expect-error memory handle in place of an address
  plugin.isend(0, comm, mhandle, mhandle, chunk);
}

interface Numbers {
  readonly slot: TransferSlot;
  readonly channel: ChannelIndex;
  readonly flight: FlightNumber;
  readonly transfer: TransferNumber;
}

function indexes(table: TransferTable, deck: FlightDeck, numbers: Numbers): void {
  const { slot, channel, flight, transfer } = numbers;
  table.channelBytes(slot, channel);
  deck.onPart(flight, channel);
  deck.go(transfer, 'write');
  // @ts-expect-error slot and channel
  table.channelBytes(channel, slot);
  // @ts-expect-error flight and channel
  deck.onPart(channel, flight);
  // @ts-expect-error a flight is counted by each end, a transfer by its initiator
  deck.go(flight, 'write');
}

test('exchanges: what the compiler has refused is not called', () => {
  assert.deepEqual([handles.length, indexes.length], [2, 3]);
});
