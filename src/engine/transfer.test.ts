import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { settle, Transfer, type TransferFacts, type TransferHost } from './transfer.js';

const FACTS: TransferFacts = {
  ...{
    slot: 0,
    generation: 1,
    operation: 'write',
    bytes: 8,
    chunks: 1,
    peer: 'b',
    trust: 'secret',
  },
  ...{ postedUs: 0, path: 'tcp host', pathReason: '', provider: 'tcp', providerReason: '' },
  choices: [],
};
const OUTCOME = {
  failure: 0,
  channels: [],
  retries: 0,
  damaged: 0,
  damagedWhere: '',
  sessionError: undefined,
};

function open() {
  let timers = 0;
  let cancels = 0;
  const host: TransferHost = {
    ...{ poll: () => undefined, block: () => undefined },
    ...{ beginAwait: () => undefined, endAwait: () => undefined },
    requestCancel: () => cancels++,
    giveUp: () => OUTCOME,
    ...{ confirmedBytes: () => 0, nowUs: () => 0 },
    after: () => {
      timers++;
      return () => timers--;
    },
  };
  const transfer = new Transfer(host, FACTS);
  return { transfer, timers: () => timers, cancels: () => cancels };
}

test('transfer: deadlines and signals leave nothing behind', () => {
  const { transfer, timers } = open();
  const { signal } = new AbortController();
  transfer.setDeadline(1000);
  transfer.setDeadline(2000);
  assert.equal(timers(), 1, 'the last deadline counts');
  transfer.cancelOn(signal);
  settle(transfer, OUTCOME);
  assert.equal(timers(), 0);
  transfer.setDeadline(1000);
  transfer.cancelOn(signal);
  assert.equal(timers(), 0, 'one that has ended has no deadline, and holds no process');
});

test('transfer: either of two signals cancels it', () => {
  for (const which of [0, 1]) {
    const { transfer, cancels } = open();
    const controllers = [new AbortController(), new AbortController()];
    for (const { signal } of controllers) transfer.cancelOn(signal);
    controllers[which]?.abort();
    assert.equal(cancels(), 1);
  }
});

test('transfer: a thousand of one signal are one listener', () => {
  const { signal } = new AbortController();
  for (let count = 0; count < 1000; count++) open().transfer.cancelOn(signal);
  assert.equal(getEventListeners(signal, 'abort').length, 1);
});
