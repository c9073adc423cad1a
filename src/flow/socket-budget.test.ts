import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isTcpxError } from '../base/errors.js';
import {
  claimSockets,
  formatHolders,
  heldSockets,
  parseHolders,
  parseSocketBudget,
  releaseSockets,
  type SocketHolder,
} from './socket-budget.js';

test('socket budget: a number, or off', () => {
  assert.equal(parseSocketBudget('8'), 8);
  assert.equal(parseSocketBudget('off'), Number.POSITIVE_INFINITY);
  for (const text of ['', '0', '-1', '8.5', 'none']) {
    assert.throws(
      () => parseSocketBudget(text),
      (error) => isTcpxError(error, 'ERR_CONFIG_VALUE'),
    );
  }
});

test('socket budget: two processes share it; the refusal names the holder', () => {
  const first = { pid: 11, startedAt: '1', sockets: 4 };
  const second = { pid: 12, startedAt: '2', sockets: 4 };
  const holders = claimSockets('eth1', claimSockets('eth1', [], first, 8), second, 8);
  assert.equal(heldSockets(holders), 8);
  assert.throws(
    () => claimSockets('eth1', holders, { ...first, sockets: 1 }, 8),
    (error) =>
      isTcpxError(error, 'ERR_CAP_SOCKET_BUDGET') &&
      /eth1: 1 data sockets more .* budget of 8; process 11 holds 4, process 12/.test(
        error.message,
      ),
  );
  assert.equal(heldSockets(claimSockets('eth1', holders, first, parseSocketBudget('off'))), 12);
});

test('socket budget: claims and releases never exceed it and end at nothing', () => {
  const claim = fc.record({
    pid: fc.integer({ min: 1, max: 5 }),
    sockets: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(claim), fc.integer({ min: 1, max: 12 }), (claims, budget) => {
      let holders: SocketHolder[] = [];
      const granted: SocketHolder[] = [];
      for (const { pid, sockets } of claims) {
        const holder = { pid, startedAt: '7', sockets };
        try {
          holders = claimSockets('nic', holders, holder, budget);
          granted.push(holder);
        } catch (error) {
          assert.ok(isTcpxError(error, 'ERR_CAP_SOCKET_BUDGET'));
        }
        assert.ok(heldSockets(holders) <= budget);
        assert.deepEqual(parseHolders(formatHolders(holders)), holders);
      }
      for (const holder of granted) holders = releaseSockets(holders, holder);
      assert.deepEqual(holders, []);
    }),
  );
});
