import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closeLoopbackPair, openLoopbackPair } from '../../test/support/loopback-pair.js';
import { getSocketText, IPPROTO_TCP, TCP_CONGESTION } from '../ffi/libc/socket.js';
import {
  chooseCongestion,
  congestionHere,
  isFar,
  namedCongestion,
  settleCongestion,
} from './congestion.js';

const anything = (): boolean => true;

test('congestion: only a default that paces is replaced, and only for near peers', () => {
  const { begin, far, reason } = chooseCongestion('auto', 'bbr', anything);
  assert.deepEqual({ begin, far }, { begin: 'cubic', far: 'bbr' });
  assert.match(reason, /cubic to peers nearer than 1 ms, else bbr/);
  assert.equal(chooseCongestion('auto', 'bbr', (name) => name === 'reno').begin, 'reno');
  for (const [setting, kernel] of [
    ['auto', 'cubic'],
    ['auto', 'unknown'],
    ['kernel', 'bbr'],
    ['', 'bbr'],
  ] as const) {
    const choice = chooseCongestion(setting, kernel, anything);
    assert.deepEqual([choice.begin, choice.far], ['', ''], `${setting}, ${kernel}`);
    assert.match(choice.reason, new RegExp(`default, ${kernel}`));
  }
  assert.deepEqual(chooseCongestion('reno', 'bbr', anything), {
    begin: 'reno',
    far: '',
    reason: '',
  });
});

test('congestion: a user who may choose nothing is told what it costs and what to do', () => {
  const choice = chooseCongestion('auto', 'bbr', () => false);
  assert.equal(choice.begin, '');
  assert.match(
    choice.reason,
    /bbr paces near peers too, which costs a third over loopback; add cubic or reno to/,
  );
});

test('congestion: a setting names an algorithm, or leaves the choice to others', () => {
  assert.deepEqual(['auto', 'kernel', '', 'bbr'].map(namedCongestion), ['', '', '', 'bbr']);
});

test('congestion: far is a millisecond, by the least round trip where that is known', () => {
  const cases = [
    [{ rttMinUs: 40, rttUs: 5000 }, false],
    [{ rttMinUs: 1000, rttUs: 100 }, true],
    [{ rttMinUs: undefined, rttUs: 5000 }, true],
    [{ rttMinUs: undefined, rttUs: 80 }, false],
    [{ rttMinUs: 0xffffffff, rttUs: 80 }, false],
    [{ rttMinUs: 0xffffffff, rttUs: 2000 }, true],
  ] as const;
  for (const [info, expected] of cases) assert.equal(isFar(info), expected, JSON.stringify(info));
});

test('congestion: a near connection keeps what it began with', () => {
  const pair = openLoopbackPair();
  const before = getSocketText(pair.clientFd, IPPROTO_TCP, TCP_CONGESTION);
  settleCongestion(pair.clientFd, { begin: '', far: 'reno', reason: '' });
  assert.equal(getSocketText(pair.clientFd, IPPROTO_TCP, TCP_CONGESTION), before);
  assert.doesNotThrow(() => congestionHere('auto'));
  closeLoopbackPair(pair);
});
