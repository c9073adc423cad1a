import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSocketPair } from '../../../ffi/libc/descriptor-passing.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { RxdmWatch } from './rxdm-watch.js';

test('RxDM watch: a socket that stays for the limit, not those of before', () => {
  let open = new Set(['1', '2']);
  const watch = new RxdmWatch(1000, () => open);
  assert.equal(watch.isSilent(0), false);
  open = new Set(['1', '2', '7']);
  assert.equal(watch.isSilent(200), false);
  assert.equal(watch.isSilent(1100), false);
  assert.equal(watch.isSilent(1200), true);
});

test('RxDM watch: an answer closes the socket, and the next has its own time', () => {
  let open = new Set(['7']);
  const watch = new RxdmWatch(1000, () => new Set());
  const asked = new RxdmWatch(1000, () => open);
  open = new Set(['8']);
  assert.equal(asked.isSilent(0), false);
  open = new Set();
  assert.equal(asked.isSilent(900), false);
  open = new Set(['9']);
  assert.equal(asked.isSilent(1100), false);
  assert.equal(asked.isSilent(2100), true);
  assert.equal(watch.isSilent(5000), false);
});

test('RxDM watch: finds the Unix sockets of this process', () => {
  const watch = new RxdmWatch(1000);
  const pair = createSocketPair();
  assert.equal(watch.isSilent(0), false);
  assert.equal(watch.isSilent(1000), true);
  closeFd(pair.ownFd);
  closeFd(pair.otherFd);
  assert.equal(watch.isSilent(1300), false);
});
