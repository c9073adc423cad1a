import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AbortError, withSignal } from './abort.js';
import { isTcpxError } from './errors.js';

test('abort: the wait ends at once, named as the platform names it, with the reason', async () => {
  const controller = new AbortController();
  const never = new Promise<never>(() => undefined);
  const waiting = withSignal(never, controller.signal, 'connect');
  const reason = new Error('the user pressed stop');
  controller.abort(reason);
  await assert.rejects(waiting, (error: unknown) => {
    assert.ok(error instanceof AbortError && isTcpxError(error, 'ERR_USAGE_ABORTED'));
    assert.equal(error.name, 'AbortError');
    assert.equal(error.cause, reason);
    return true;
  });
});

test('abort: before it begins, and after it is over', async () => {
  const aborted = AbortSignal.abort('early');
  await assert.rejects(withSignal(Promise.resolve(1), aborted, 'x'), { name: 'AbortError' });
  const controller = new AbortController();
  assert.equal(await withSignal(Promise.resolve(1), controller.signal, 'x'), 1);
  controller.abort();
  assert.equal(await withSignal(Promise.resolve(2), undefined, 'x'), 2);
});

test('abort: a failure behind an aborted wait is nobody’s unhandled rejection', async () => {
  const controller = new AbortController();
  let fail: (error: Error) => void = () => undefined;
  const failing = new Promise<never>((_, reject) => {
    fail = reject;
  });
  const waiting = withSignal(failing, controller.signal, 'x');
  controller.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  fail(new Error('late'));
  await new Promise((resolve) => setImmediate(resolve));
});
