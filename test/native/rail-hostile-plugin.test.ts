// A plugin that hands out nonsense: a typed error on its channel, never a crash of the process.

import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { closeRails, failureOf, moveChecked, openRailPair } from './rail-pair.js';

after(closeRails);

describe('rail: what accept hands out is checked before it is used', () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ['type', /device type 0, version 7: known is 1/],
    ['version', /device type 1, version 8/],
    ['size', /a handle of 48 bytes, not 24/],
    ['null', /no handle/],
    ['wild', /0x1000 is no memory of the device/],
    ['no-lists', /no lists of fragments/],
    ['no-bounce', /no bounce buffer: the receive datapath manager/],
  ];
  for (const [kind, pattern] of cases) {
    test(`rail: ${kind} is an error of the join`, async () => {
      const receiver = { plugin: { TCPX_EMU_BAD_DEVICE: kind } };
      const error = await failureOf(openRailPair({}, { receiver }));
      assert.equal(error.code, 'ERR_NCCLNET_SCATTER_LIST');
      assert.match(error.message, pattern);
    });
  }
});

test('rail: a fragment outside the bounce buffer is an error of the channel', async () => {
  const receiver = { plugin: { TCPX_EMU_FAULT: 'bad-entry:1' } };
  const pair = await openRailPair({}, { receiver });
  await moveChecked(pair);
  const error = await failureOf(moveChecked(pair));
  assert.equal(error.code, 'ERR_NCCLNET_SCATTER_LIST');
  assert.match(error.message, /a fragment reaches beyond the bounce buffer/);
  const pids = pair.receiver.rails.set.pids();
  assert.equal(pids.length, 1, 'its process lives on');
});
