import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSocketPair } from '../../../ffi/libc/descriptor-passing.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { RxdmWatch } from './rxdm-watch.js';

/** Asked every 200 ms, with what is open at each time; when it first says silent. */
function silentAt(steps: readonly (readonly [fromMs: number, open: string])[]): number {
  let open = '';
  const watch = new RxdmWatch(1000, () => new Set(open.split('').filter((name) => name !== '')));
  for (let nowMs = 0; nowMs <= 6000; nowMs += 200) {
    const step = steps.findLast(([fromMs]) => fromMs <= nowMs);
    if (step?.[1] === '-') continue;
    open = step?.[1] ?? '';
    if (watch.isSilent(nowMs)) return nowMs;
  }
  return -1;
}

test('RxDM watch: a socket that stays for the limit, not those of before', () => {
  const late = [
    [0, 'ab'],
    [400, 'abx'],
  ] as const;
  assert.equal(silentAt(late), 1400);
  assert.equal(silentAt([[0, 'abx']]), -1);
});

test('RxDM watch: an answer closes the socket, and the next has its own time', () => {
  const answered = [
    [0, ''],
    [400, 'x'],
    [1200, ''],
    [1400, 'y'],
  ] as const;
  assert.equal(silentAt(answered), 2400);
});

test('RxDM watch: what stayed open after an accept belongs to no later one', () => {
  const kept = [
    [0, ''],
    [400, 'k'],
    [600, '-'],
    [3000, 'k'],
    [3400, 'kx'],
  ] as const;
  assert.equal(silentAt(kept), 4400);
});

test('RxDM watch: finds the Unix sockets of this process', () => {
  const watch = new RxdmWatch(1000);
  assert.equal(watch.isSilent(0), false);
  const pair = createSocketPair();
  for (let nowMs = 200; nowMs < 1200; nowMs += 200) assert.equal(watch.isSilent(nowMs), false);
  assert.equal(watch.isSilent(1200), true);
  closeFd(pair.ownFd);
  closeFd(pair.otherFd);
  assert.equal(watch.isSilent(1400), false);
});
