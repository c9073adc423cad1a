// A peer that breaks a rule of the data channel: the log warns of it with the rule's number, the
// peer is told, and a goodbye that it sends along does not hide it.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { closeEngines, KeptLog, openEngine } from '../../test/support/engine-pair.js';
import { openRawChannel, openRawSession } from '../../test/support/raw-handshake.js';
import { until } from '../../test/support/until.js';
import { ControlKind, encodeControl } from '../wire/control-frame.js';
import { DATA_HEAD_BYTES, FRAME_ACK, WORD_ACK, WORD_KIND } from '../wire/data-frame.js';
import { liveSession } from './session-face.js';

after(closeEngines);

/** Acknowledges what was never sent: rule 10. */
function untrueAck(): Uint8Array {
  const words = new Uint32Array(DATA_HEAD_BYTES / 4);
  words[WORD_KIND] = FRAME_ACK;
  words[WORD_ACK] = 7;
  return Buffer.from(words.buffer);
}

const IS_WARNED = /warn session closing .*code=ERR_WIRE_FRAME .*breaks rule 10: /;

test('broken rule: a warning with its number, and the peer is told', async () => {
  const kept = new KeptLog();
  const server = await openEngine({ 'lane.progress': 'lanes' }, kept);
  const port = server.listen({ host: '127.0.0.1', port: 0 });
  const session = await openRawSession(port);
  const data = await openRawChannel(port, session);
  const held = server.sessions[0]!;
  data.sendBytes(untrueAck());
  const told = await session.control.next();
  assert.ok(told?.kind === ControlKind.Goodbye);
  assert.match(told.reason, /^ERR_WIRE_FRAME: you.* breaks rule 10: /);
  await held.closed;
  assert.equal(held.error?.code, 'ERR_WIRE_FRAME');
  assert.ok(kept.has(IS_WARNED), kept.lines.join(''));
  await server.close();
});

test('broken rule: a goodbye right after it does not hide it', async () => {
  for (const progress of ['lanes', 'caller'] as const) {
    const kept = new KeptLog();
    const server = await openEngine({ 'lane.progress': progress }, kept);
    const port = server.listen({ host: '127.0.0.1', port: 0 });
    for (let round = 0; round < 5; round++) {
      const session = await server.drive(openRawSession(port));
      const data = await server.drive(openRawChannel(port, session));
      const held = server.sessions
        .map(liveSession)
        .find(({ facts }) => facts.id === session.accept.sessionId)!;
      data.sendBytes(untrueAck());
      session.control.sendBytes(encodeControl({ kind: ControlKind.Goodbye, reason: 'bye' }));
      await server.drive(held.closed);
      assert.equal(held.error?.code, 'ERR_WIRE_FRAME', `${progress}, round ${round}`);
      for (const peer of [data, session.control]) peer.close();
    }
    await until(
      'the warnings',
      2000,
      () => kept.lines.filter((l) => IS_WARNED.test(l)).length >= 5,
    );
    await server.close();
  }
});
