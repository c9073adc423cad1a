// A thread that blocks for a transfer through the plugin is told, in time, that it waits in vain.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isTcpxError } from '../../src/base/errors.js';
import { withCode } from '../support/expect-error.js';
import { closeProviders, makeMemory, openPair, railsOf, wholeBlock } from './tcpx-pair.js';

after(closeProviders);

const BYTES = 64 * 1024 * 1024;
const HANG_MS = 1000;

test('tcpx wait: the death of a plugin process ends it, and done says why', async () => {
  const pair = await openPair({ settings: { 'tcpx.hangMs': HANG_MS } });
  const blocks = wholeBlock(makeMemory(pair.initiator, BYTES), makeMemory(pair.target, BYTES));
  // The target is of this thread too: it posts no receives, and nothing can finish.
  const transfer = pair.session.write(blocks);
  for (const pid of railsOf(pair.initiator).pids()) process.kill(pid, 'SIGKILL');
  const startMs = performance.now();
  assert.throws(
    () => transfer.wait(60_000),
    withCode('ERR_USAGE_STATE', /wait: .*channels are down.*await done/),
  );
  const waitedMs = performance.now() - startMs;
  assert.ok(waitedMs < 10 * HANG_MS, `${waitedMs} ms`);
  // Posted now, it waits for channels that the event loop has to set up.
  const next = pair.session.write(blocks);
  assert.throws(() => next.wait(60_000), withCode('ERR_USAGE_STATE', /event loop/));
  next.cancel();
  for (const one of [transfer, next]) {
    await assert.rejects(one.done, (error) => isTcpxError(error));
  }
  await pair.close();
});
