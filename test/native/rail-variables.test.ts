// Inherited variables with which the real plugin would break, over the emulator.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeRails, failureOf, makeRails, moveChecked, openRailPair } from './rail-pair.js';

after(closeRails);

test('rail variables: an inline threshold does not lead data past the bounce buffer', async () => {
  const pair = await openRailPair({ plugin: { NCCL_INLINE_THRESHOLD: '2048' } });
  await moveChecked(pair, 0, 1000);
  const [warning = ''] = pair.sender.rails.lines.filter((line) => line.includes('overridden'));
  assert.match(warning, /NCCL_INLINE_THRESHOLD.*2048/);
});

test('rail variables: the plugin switched off is refused by name, before it is asked', async () => {
  const { set } = makeRails({ plugin: { NCCL_GPUDIRECTTCPX_SOCKET_ENABLE: '0' } });
  const error = await failureOf(set.open());
  assert.equal(error.code, 'ERR_CONFIG_VALUE');
  assert.match(error.message, /NCCL_GPUDIRECTTCPX_SOCKET_ENABLE=0: it switches the plugin off/);
});
