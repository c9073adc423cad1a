import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSocketPair } from '../../../ffi/libc/descriptor-passing.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { RxdmWatch } from './rxdm-watch.js';

/** Accepts begin (+) and end (-) at some steps; asked every 200 ms: when it first says silent. */
function silentAt(steps: readonly (readonly [fromMs: number, open: string, event?: string])[]) {
  let open = '';
  let underWay = 0;
  const watch = new RxdmWatch(1000, () => new Set(open));
  for (let nowMs = 0; nowMs <= 6000; nowMs += 200) {
    const step = steps.find(([fromMs]) => fromMs === nowMs);
    if (step?.[2] === '+') {
      watch.begin(nowMs);
      underWay++;
    } else if (step?.[2] === '-') {
      watch.end();
      underWay--;
    }
    open = step?.[1] ?? open;
    if (underWay > 0 && watch.isSilent(nowMs)) return nowMs;
  }
  return -1;
}

test('RxDM watch: a socket that stays for the limit, not those of before', () => {
  const late = [
    [0, 'ab'],
    [200, 'ab', '+'],
    [600, 'abx'],
  ] as const;
  assert.equal(silentAt(late), 1600);
  const none = [
    [0, 'abx'],
    [200, 'abx', '+'],
  ] as const;
  assert.equal(silentAt(none), -1);
});

test('RxDM watch: a request that is there before the first look counts', () => {
  // The plugin's own thread asks while accept is called for the first time.
  assert.equal(silentAt([[0, 'x', '+']]), 1200);
});

test('RxDM watch: looks that are far apart miss no silence', () => {
  let open = new Set<string>();
  const watch = new RxdmWatch(1000, () => open);
  watch.begin(0);
  open = new Set('x');
  assert.equal(watch.isSilent(3000), false, 'seen for the first time');
  assert.equal(watch.isSilent(6000), true);
});

test('RxDM watch: an answer closes the socket, and the next has its own time', () => {
  const answered = [
    [0, '', '+'],
    [400, 'x'],
    [1200, ''],
    [1400, 'y'],
  ] as const;
  assert.equal(silentAt(answered), 2400);
});

test('RxDM watch: what stayed open after an accept belongs to no later one', () => {
  const kept = [
    [0, '', '+'],
    [400, 'k'],
    [600, 'k', '-'],
    [3000, 'k', '+'],
    [3400, 'kx'],
  ] as const;
  assert.equal(silentAt(kept), 4400);
});

test('RxDM watch: one of several accepts that ends shows that the manager answers', () => {
  const several = [
    [0, '', '+'],
    [200, 'xy', '+'],
    [1000, 'y', '-'],
  ] as const;
  assert.equal(silentAt(several), 2000);
});

test('RxDM watch: finds the Unix sockets of this process', () => {
  const watch = new RxdmWatch(1000);
  watch.begin(0);
  const pair = createSocketPair();
  for (let nowMs = 200; nowMs < 1200; nowMs += 200) assert.equal(watch.isSilent(nowMs), false);
  assert.equal(watch.isSilent(1200), true);
  closeFd(pair.ownFd);
  closeFd(pair.otherFd);
  assert.equal(watch.isSilent(1400), false);
});
