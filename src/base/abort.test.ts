import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { AbortError, onAbort, withSignal } from './abort.js';
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

test('abort: nor is a failure behind one that was aborted before it began', async () => {
  const failing = Promise.reject(new Error('in any case'));
  await assert.rejects(withSignal(failing, AbortSignal.abort(), 'x'), { name: 'AbortError' });
  await new Promise((resolve) => setImmediate(resolve));
});

test('abort: many waits of a signal share a listener, and each is told or taken back', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const told: number[] = [];
  const waits = Array.from({ length: 100 }, (_, index) => onAbort(signal, () => told.push(index)));
  const waiting = withSignal(new Promise<never>(() => undefined), signal, 'x');
  assert.equal(getEventListeners(signal, 'abort').length, 1, 'Node warns of eleven');
  waits[0]?.();
  controller.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
  assert.deepEqual(
    told,
    Array.from({ length: 99 }, (_, index) => index + 1),
  );
});

test('abort: an AbortError of wrong arguments says so', () => {
  const wrong = (...given: unknown[]) => {
    return () => Reflect.construct(AbortError, given) as unknown;
  };
  const isUsage = (error: unknown) => isTcpxError(error, 'ERR_USAGE_ARGUMENT');
  assert.throws(wrong(), isUsage);
  assert.throws(wrong('x'), isUsage);
  assert.throws(wrong('x', {}), isUsage);
  assert.throws(wrong(Symbol('x'), AbortSignal.abort()), isUsage);
  assert.throws(wrong('x', AbortSignal.abort(), 'no code'), isUsage);
});
