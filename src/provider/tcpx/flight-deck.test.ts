// Announcements out of order, with other tags or another plan: refused before data is believed.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTcpxError, TcpxError } from '../../base/errors.js';
import { decodeMatchHead, type MatchHead } from '../../wire/match-frame.js';
import { derivePlan } from './described-plan.js';
import { FlightDeck } from './flight-deck.js';

const SHAPE = { chunkBytes: 1000, gatherBytes: 400, weights: [1, 1] };

function openDeck(refusedTransfer = -1, isPaced = false) {
  const sent: MatchHead[] = [];
  const puts: unknown[] = [];
  const deck = new FlightDeck({
    set: () => ({
      put: (...words: unknown[]) => {
        puts.push(words);
        return [];
      },
    }),
    send: (frame) => {
      const head = decodeMatchHead(frame);
      if (head.transfer === refusedTransfer) throw new TcpxError('ERR_WIRE_LIMIT', 'full');
      sent.push(head);
    },
    isPaced,
  });
  return { deck, sent, puts };
}

function planOf(lengths: readonly number[], shape: Partial<typeof SHAPE> = {}) {
  return derivePlan(Float64Array.from(lengths), { ...SHAPE, ...shape });
}

function send(deck: FlightDeck, transfer: number, lengths: readonly number[]): void {
  const places = lengths.map(() => ({ region: 0, offset: 0 }));
  const kind = { operation: 'write', transfer, entered: [] } as const;
  const announced = { plan: 3, notify: undefined };
  deck.send({ ...kind, lengths: Float64Array.from(lengths) }, planOf(lengths), places, announced);
}

function announced(lengths: readonly number[]): MatchHead {
  const { deck, sent } = openDeck();
  send(deck, 1, lengths);
  assert.ok(sent[0] !== undefined);
  return sent[0];
}

test('flight deck: the receiver derives the plan that the sender announces', () => {
  const lengths = [2500, 100, 200, 399, 401];
  const head = announced(lengths);
  const derived = planOf(lengths);
  openDeck().deck.checkDue(head, derived);
  assert.equal(derived.plan.chunkCount, 3 + 1 + 1);
  assert.deepEqual([...derived.plan.blockCounts], [1, 1, 1, 3, 1]);
  assert.equal(head.plan, 3);
});

test('flight deck: another order, tag or plan fails fast', () => {
  const head = announced([2500, 100]);
  const derived = planOf([2500, 100]);
  const isOff = (error: unknown): boolean => isTcpxError(error, 'ERR_WIRE_STATE');
  for (const change of [{ sequence: 1 }, { tag: 2 }, { digest: head.digest + 1 }]) {
    const attempt = () => openDeck().deck.checkDue({ ...head, ...change }, derived);
    assert.throws(attempt, isOff, JSON.stringify(change));
  }
  const others = [
    planOf([2500, 101]),
    planOf([2500, 100, 100]),
    planOf([2500, 100], { weights: [1, 2] }),
    planOf([2500, 100], { weights: [1] }),
  ];
  for (const other of others) assert.throws(() => openDeck().deck.checkDue(head, other), isOff);
  assert.throws(() => planOf([1], { gatherBytes: 1001 }), /gathered/);
});

test('flight deck: tags and announcements are counted alike at both ends', () => {
  const sender = openDeck();
  const receiver = openDeck().deck;
  for (const lengths of [[10], [3000], [1, 1, 1]]) {
    send(sender.deck, 1, lengths);
    const head = sender.sent.at(-1);
    assert.ok(head !== undefined);
    receiver.checkDue(head, planOf(lengths));
  }
  assert.deepEqual(
    sender.sent.map(({ sequence, tag }) => [sequence, tag]),
    [
      [0, 1],
      [1, 2],
      [2, 5],
    ],
  );
});

test('flight deck: an announcement that could not be sent leaves no hole behind', () => {
  const sender = openDeck(2);
  const receiver = openDeck().deck;
  for (const transfer of [1, 2, 3]) {
    const post = () => send(sender.deck, transfer, [3000]);
    if (transfer === 2) assert.throws(post, /full/);
    else post();
  }
  assert.equal(sender.puts.length, 2, 'nothing is sent of the one that was not announced');
  for (const head of sender.sent) receiver.checkDue(head, planOf([3000]));
  assert.equal(sender.deck.find('send', 2, 'write'), undefined);
  assert.equal(sender.deck.reset().length, 2);
});

test('flight deck: a GO, or a LANDED, that nobody waits for breaks a rule', () => {
  const isOff = (error: unknown): boolean => isTcpxError(error, 'ERR_WIRE_STATE');
  const { deck: unpaced } = openDeck();
  send(unpaced, 1, [10]);
  assert.throws(() => unpaced.go(1, 'write'), isOff, 'its chunks are on their way');
  const { deck, puts } = openDeck(-1, true);
  send(deck, 1, [3000]);
  assert.throws(() => deck.go(2, 'write'), isOff, 'another number');
  assert.throws(() => deck.go(1, 'read'), isOff, 'another operation');
  deck.go(1, 'write');
  assert.throws(() => deck.go(1, 'write'), isOff, 'a second one would send its chunks twice');
  assert.equal(puts.length, 1);
  assert.throws(() => deck.land(1, 'write', 2), isOff, 'another tag');
  const flight = deck.land(1, 'write', 3);
  assert.throws(() => deck.land(1, 'write', 3), isOff, 'landed already');
  deck.remove(flight);
  assert.throws(() => deck.land(1, 'write', 3), isOff, 'finished');
});
