// What the rails say when a plugin does something: errors and log lines as a user reads them.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeRails, failureOf, moveChecked, openRailPair, openRails } from './rail-pair.js';

after(closeRails);

test('rail words: without the log shim every error says that the words are lost', async () => {
  const host = { isLogLost: true } as const;
  const failing = { plugin: { TCPX_EMU_FAULT: 'init' }, host };
  const early = await failureOf(openRails(failing));
  assert.match(early.message, /words are not captured/);
  const pair = await openRailPair(
    { host },
    { receiver: { plugin: { TCPX_EMU_FAULT: 'no-cmsg' } } },
  );
  const [warning] = pair.sender.rails.lines.filter((line) => line.includes('not captured'));
  assert.ok(warning !== undefined, 'said at the start too');
  const late = await failureOf(moveChecked(pair));
  assert.equal(late.code, 'ERR_NCCLNET_EXIT');
  assert.match(late.message, /exited with 1.*words are not captured/);
});
