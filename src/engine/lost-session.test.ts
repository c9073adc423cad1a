// A session that is lost fails what is in flight, and what is posted on it later, with the reason.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, openPair } from '../../test/support/engine-pair.js';
import { withCode } from '../../test/support/expect-error.js';
import type { TcpxError } from '../base/errors.js';
import type { Region } from '../memory/region.js';

after(closeEngines);

function whole(local: Region, remote: Region, bytes: number) {
  return [{ local, localOffset: 0, remote: remote.descriptor, remoteOffset: 0, bytes }];
}

test('engine: the end of the peer fails what is in flight and names it', async () => {
  const pair = await openPair({ 'lane.progress': 'caller', 'flow.windowChunks': 1 });
  const bytes = 8_000_000;
  const local = pair.client.register(new Uint8Array(bytes));
  const remote = pair.server.register(new Uint8Array(bytes));
  const transfer = pair.session.write(whole(local, remote, bytes));
  const failed = assert.rejects(
    pair.client.drive(transfer.done),
    withCode('ERR_XFER_FAILED', /server/),
  );
  await pair.drive(pair.server.close());
  await failed;
  await pair.client.drive(pair.session.closed);
  assert.equal(pair.session.state, 'closed');
  assert.equal(pair.session.error?.code, 'ERR_PEER_GOODBYE');
  const posts = [
    () => pair.session.write(whole(local, remote, 8)),
    () => pair.session.read(whole(local, remote, 8)),
    () => pair.session.prepare('write', whole(local, remote, 8)).post({ deadlineMs: 1000 }),
    () => pair.session.notify('too late'),
  ];
  for (const post of posts) {
    const late = post();
    assert.equal(late.poll(), 'failed');
    assert.ok(late.isReleased);
    await assert.rejects(late.done, (error: TcpxError) => {
      assert.equal(error.code, 'ERR_XFER_FAILED');
      assert.equal(error.cause, pair.session.error, 'it names the loss that ended the session');
      return /ERR_PEER_GOODBYE/.test(error.message);
    });
  }
  await pair.client.deregister(local);
  await pair.client.close();
});
