// Announcements out of order, with other tags or another plan: refused before data is believed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import type { Announce } from '../../engine/tcpx/control-message.js';
import type { ControlLink } from '../../engine/tcpx/control-link.js';
import { FlightDeck } from './flight-deck.js';
import type { SessionChannels } from '../../engine/tcpx/session-channels.js';

const CHANNELS = 2;

function openDeck(refusedTransfer = -1) {
  const sent: Announce[] = [];
  const puts: unknown[] = [];
  const send = (message: Announce): void => {
    if (message.transfer === refusedTransfer) throw new TcpxError('ERR_WIRE_LIMIT', 'full');
    sent.push(message);
  };
  // checked: no more of them is used
  const link = { send } as unknown as ControlLink;
  const set = { count: CHANNELS, put: (...words: unknown[]) => puts.push(words) };
  const channels = { epoch: 1, set } as unknown as SessionChannels;
  const deck = new FlightDeck({
    channels: () => channels,
    link,
    chunkBytes: 1000,
    gatherBytes: 400,
    isPaced: false,
    weights: '',
  });
  return { deck, sent, puts };
}

const NOTHING = { regions: [], blocks: [], notify: undefined };

function announced(lengths: readonly number[]): Announce {
  const { deck, sent } = openDeck();
  const places = lengths.map(() => ({ region: 0, offset: 0 }));
  deck.send('write', 1, lengths, places, NOTHING);
  assert.ok(sent[0] !== undefined);
  return sent[0];
}

test('flight deck: the receiver derives the plan that the sender announces', () => {
  const message = announced([2500, 100, 200, 399, 401]);
  const plan = openDeck().deck.planOf(message);
  assert.equal(plan.chunkCount, 3 + 1 + 1);
  assert.deepEqual([...plan.blockCounts], [1, 1, 1, 3, 1]);
});

test('flight deck: another order, tag, plan or channel count fails fast', () => {
  const message = announced([2500, 100]);
  const bad: readonly Partial<Announce>[] = [
    { sequence: 1 },
    { firstTag: 2 },
    { digest: message.digest + 1 },
    { lengths: [2500, 101] },
    { gatherBytes: 0, lengths: [2500, 100, 100] },
    { weights: [1, 2] },
    { weights: [1] },
  ];
  for (const change of bad) {
    assert.throws(
      () => openDeck().deck.planOf({ ...message, ...change }),
      (error) => isTcpxError(error, 'ERR_WIRE_STATE'),
      JSON.stringify(change),
    );
  }
  assert.throws(() => openDeck().deck.planOf({ ...message, gatherBytes: 1001 }), /gathered/);
});

test('flight deck: tags and announcements are counted alike at both ends', () => {
  const sender = openDeck();
  const receiver = openDeck().deck;
  for (const lengths of [[10], [3000], [], [1, 1, 1]]) {
    const places = lengths.map(() => ({ region: 0, offset: 0 }));
    sender.deck.send('write', 1, lengths, places, NOTHING);
    const message = sender.sent.at(-1);
    assert.ok(message !== undefined);
    receiver.planOf(message);
  }
  assert.deepEqual(
    sender.sent.map(({ sequence, firstTag }) => [sequence, firstTag]),
    [
      [0, 1],
      [1, 2],
      [2, 5],
      [3, 5],
    ],
  );
});

test('flight deck: an announcement that could not be sent leaves no hole behind', () => {
  const sender = openDeck(2);
  const receiver = openDeck().deck;
  const places = [{ region: 0, offset: 0 }];
  for (const transfer of [1, 2, 3]) {
    const post = () => sender.deck.send('write', transfer, [3000], places, NOTHING);
    if (transfer === 2) assert.throws(post, /full/);
    else post();
  }
  assert.equal(sender.puts.length, 2, 'nothing is sent of the one that was not announced');
  for (const message of sender.sent) receiver.planOf(message);
  assert.equal(sender.deck.usesRegion(0), true);
  assert.equal(sender.deck.sending(2, 'write'), undefined);
});
