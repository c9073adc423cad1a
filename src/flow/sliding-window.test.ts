import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReceiveWindow, SendWindow } from './sliding-window.hot.js';

test('receive window: no sequence of steps exceeds it or breaks the order', () => {
  const step = fc.constantFrom('post', 'done', 'unpack', 'consume');
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 16 }), fc.array(step), (limit, steps) => {
      const window = new ReceiveWindow(limit);
      for (const one of steps) {
        if (one === 'post' && window.hasRoom) window.onPosted();
        if (one === 'done' && window.done < window.posted) window.onDone();
        if (one === 'unpack' && window.unpacked < window.done) window.onUnpacked();
        if (one === 'consume' && window.consumed < window.unpacked) window.onConsumed();
        assert.ok(window.outstanding <= limit && window.highWater <= limit);
        const { posted, done, unpacked, consumed } = window;
        assert.ok(posted >= done && done >= unpacked && unpacked >= consumed);
      }
    }),
  );
});

test('receive window: what is not consumed keeps its place', () => {
  const window = new ReceiveWindow(2);
  window.onPosted();
  window.onPosted();
  window.onDone();
  window.onUnpacked();
  assert.equal(window.hasRoom, false);
  window.onConsumed();
  assert.equal(window.hasRoom, true);
});

test('windows: a step out of order is an assertion', () => {
  const receive = new ReceiveWindow(1);
  assert.throws(() => receive.onDone(), /done after posted/);
  receive.onPosted();
  assert.throws(() => receive.onPosted(), /has room/);
  assert.throws(() => receive.onUnpacked(), /unpacked after done/);
  assert.throws(() => receive.onConsumed(), /consumed after unpacked/);
  const send = new SendWindow(12);
  assert.throws(() => send.onDone(), /done after posted/);
  for (let index = 0; index < 12; index++) send.onPosted();
  assert.throws(() => send.onPosted(), /has room/);
  assert.equal(send.highWater, 12);
  assert.throws(() => new ReceiveWindow(17), /1 to 16/);
  assert.throws(() => new SendWindow(0), /1 to 16/);
});
