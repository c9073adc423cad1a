import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import {
  getSocketNumber,
  getSocketText,
  IPPROTO_TCP,
  isConnected,
  listenOn,
  localAddress,
  openStreamSocket,
  SO_BINDTODEVICE,
  SOL_SOCKET,
  TCP_CONGESTION,
  TCP_NODELAY,
  TCP_USER_TIMEOUT,
} from '../ffi/libc/socket.js';
import { ControlSet } from './control-set.js';
import { type DialOptions, dial, tuneSocket } from './dial.js';
import { nicAddress } from './nic-address.js';

const TUNING = { bufferBytes: 0, userTimeoutMs: 0, isZeroCopy: false };

type Change = Partial<Pick<DialOptions, 'nic' | 'congestion' | 'timeoutMs'>>;

async function dialTo(port: number, change: Change = {}) {
  const set = new ControlSet(8);
  const pump = setInterval(() => set.poll(), 1);
  try {
    const address = { host: '127.0.0.1', port };
    const usual = { nic: '', congestion: '', tuning: TUNING, timeoutMs: 1000 };
    return await dial(set, { address, ...usual, ...change });
  } finally {
    clearInterval(pump);
    set.close();
  }
}

test('dial: connects, bound to the interface that was named', async () => {
  const listenFd = listenOn({ host: '127.0.0.1', port: 0 }, 4);
  const { port } = localAddress(listenFd);
  const fd = await dialTo(port, { nic: 'lo' });
  assert.equal(getSocketText(fd, SOL_SOCKET, SO_BINDTODEVICE), 'lo');
  assert.equal(getSocketNumber(fd, IPPROTO_TCP, TCP_NODELAY), 1);
  assert.ok(isConnected(fd));
  const other = openStreamSocket('127.0.0.1');
  assert.ok(!isConnected(other), 'nobody was called');
  closeFd(other);
  closeFd(fd);
  closeFd(listenFd);
});

test('dial: a missing interface is named with those that exist, never passed over', async () => {
  const attempt = dialTo(1, { nic: 'no-such-nic' });
  await assert.rejects(attempt, withCode('ERR_CONFIG_VALUE', /no-such-nic.*lo/));
  assert.equal(nicAddress('lo', 'IPv4'), '127.0.0.1');
});

test('dial: refused is ERR_PEER_UNREACHABLE, with the errno among its facts', async () => {
  const listenFd = listenOn({ host: '127.0.0.1', port: 0 }, 4);
  const { port } = localAddress(listenFd);
  closeFd(listenFd);
  await assert.rejects(dialTo(port), withCode('ERR_PEER_UNREACHABLE', /ECONNREFUSED/));
});

test('dial: the congestion control is the one asked for, and an unknown one is named', async () => {
  const listenFd = listenOn({ host: '127.0.0.1', port: 0 }, 4);
  const { port } = localAddress(listenFd);
  const fd = await dialTo(port, { congestion: 'reno' });
  assert.equal(getSocketText(fd, IPPROTO_TCP, TCP_CONGESTION), 'reno');
  closeFd(fd);
  const attempt = dialTo(port, { congestion: 'nonsense' });
  await assert.rejects(attempt, withCode('ERR_SYS_CALL', /TCP_CONGESTION nonsense: ENOENT/));
  closeFd(listenFd);
});

test('tuning: the options are set', () => {
  const fd = openStreamSocket('127.0.0.1');
  tuneSocket(fd, { bufferBytes: 65536, userTimeoutMs: 4321, isZeroCopy: false });
  assert.equal(getSocketNumber(fd, IPPROTO_TCP, TCP_USER_TIMEOUT), 4321);
  closeFd(fd);
});
