import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import {
  acceptWithin,
  closeLoopbackPair,
  openLoopbackPair,
} from '../../../test/support/loopback-pair.js';
import { EAGAIN, EBADF, ECONNREFUSED, EINPROGRESS, ENOTCONN, errnoName } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { receiveVector, sendVector, setIov } from './message.hot.js';
import { createIovTable } from './message.js';
import {
  acceptSocket,
  bindSocket,
  connectSocket,
  formatAddress,
  getSocketNumber,
  getSocketText,
  IPPROTO_TCP,
  listenOn,
  localAddress,
  openStreamSocket,
  peerAddress,
  SO_BINDTODEVICE,
  SO_ZEROCOPY,
  SOL_SOCKET,
  setSocketNumber,
  setSocketText,
  shutdownSocket,
  TCP_CONGESTION,
  TCP_NODELAY,
  TCP_USER_TIMEOUT,
  takeSocketError,
  trySetSocketNumber,
} from './socket.js';
import { decodeTcpInfo, readTcpInfo } from './tcp-info.js';

const openFds: number[] = [];
after(() => openFds.forEach((fd) => closeFd(fd)));

function keep(fd: number): number {
  openFds.push(fd);
  return fd;
}

for (const host of ['127.0.0.1', '::1']) {
  test(`socket: listen, connect and accept on ${host}, both ends know each other`, () => {
    const listenFd = keep(listenOn({ host, port: 0 }, 4));
    const where = localAddress(listenFd);
    assert.equal(where.host, host);
    assert.ok(where.port > 0);
    const clientFd = keep(openStreamSocket(host));
    const started = connectSocket(clientFd, where);
    assert.ok(started === 0 || started === -EINPROGRESS, errnoName(-started));
    const serverFd = keep(acceptWithin(listenFd, 1000));
    assert.ok(serverFd > 0, errnoName(-serverFd));
    assert.deepEqual(peerAddress(serverFd), localAddress(clientFd));
    assert.deepEqual(peerAddress(clientFd), where);
    assert.equal(takeSocketError(clientFd), 0);
  });
}

test('socket: an IPv6 listener on :: takes IPv4 too, and shows the peer as IPv4', () => {
  const listenFd = keep(listenOn({ host: '::', port: 0 }, 4));
  const clientFd = keep(openStreamSocket('127.0.0.1'));
  connectSocket(clientFd, { host: '127.0.0.1', port: localAddress(listenFd).port });
  assert.equal(peerAddress(keep(acceptWithin(listenFd, 1000))).host, '127.0.0.1');
});

test('socket: a port in use is ERR_SYS_ADDRESS_IN_USE and names the address', () => {
  const { port } = localAddress(keep(listenOn({ host: '127.0.0.1', port: 0 }, 4)));
  assert.throws(
    () => listenOn({ host: '127.0.0.1', port }, 4),
    withCode('ERR_SYS_ADDRESS_IN_USE', new RegExp(`127.0.0.1:${port}`)),
  );
});

test('socket: an address of somebody else is ERR_SYS_CALL', () => {
  const listen = () => listenOn({ host: '203.0.113.9', port: 0 }, 4);
  assert.throws(listen, withCode('ERR_SYS_CALL', /EADDRNOTAVAIL/));
});

test('socket: accept without a caller is EAGAIN, when connected EINVAL, on none EBADF', () => {
  const listenFd = keep(listenOn({ host: '127.0.0.1', port: 0 }, 4));
  assert.equal(acceptSocket(listenFd), -EAGAIN);
  assert.equal(errnoName(-acceptSocket(keep(openStreamSocket('127.0.0.1')))), 'EINVAL');
  assert.equal(acceptSocket(-1), -EBADF);
});

test('socket: connect to a port where nobody listens is refused', () => {
  const listenFd = listenOn({ host: '127.0.0.1', port: 0 }, 4);
  const where = localAddress(listenFd);
  closeFd(listenFd);
  const fd = keep(openStreamSocket('127.0.0.1'));
  const started = connectSocket(fd, where);
  const errno = started === -EINPROGRESS ? takeSocketError(fd) : -started;
  assert.equal(errno, ECONNREFUSED, errnoName(errno));
});

test('socket: the peer of an unconnected socket is ENOTCONN', () => {
  const fd = keep(openStreamSocket('127.0.0.1'));
  assert.throws(() => peerAddress(fd), withCode('ERR_SYS_CALL', /ENOTCONN/));
  assert.equal(shutdownSocket(fd), -ENOTCONN);
});

test('socket: bind takes a port of its own, and not twice', () => {
  const first = keep(openStreamSocket('127.0.0.1'));
  assert.equal(bindSocket(first, { host: '127.0.0.1', port: 0 }), 0);
  const second = keep(openStreamSocket('127.0.0.1'));
  assert.equal(errnoName(-bindSocket(second, localAddress(first))), 'EADDRINUSE');
});

test('socket: shutdown ends the stream for the peer, and sending is EPIPE', () => {
  const pair = openLoopbackPair();
  const table = createIovTable();
  assert.equal(shutdownSocket(pair.clientFd), 0);
  setIov(table, 0, table.headerAddr, 16);
  assert.equal(errnoName(-sendVector(pair.clientFd, table, 0, 1, 0)), 'EPIPE');
  setIov(table, 0, table.headerAddr + 4096, 16);
  assert.equal(receiveVector(pair.serverFd, table, 0, 1), 0);
  closeLoopbackPair(pair);
});

test('socket options: numbers come back as the kernel keeps them', () => {
  const fd = keep(openStreamSocket('127.0.0.1'));
  for (const [option, value] of [
    [TCP_NODELAY, 1],
    [TCP_USER_TIMEOUT, 1234],
  ] as const) {
    assert.notEqual(getSocketNumber(fd, IPPROTO_TCP, option), value);
    setSocketNumber(fd, IPPROTO_TCP, option, value);
    assert.equal(getSocketNumber(fd, IPPROTO_TCP, option), value);
  }
  setSocketNumber(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
  assert.equal(getSocketNumber(fd, SOL_SOCKET, SO_ZEROCOPY), 1);
});

test('socket options: an unknown option and a closed descriptor are named', () => {
  const fd = openStreamSocket('127.0.0.1');
  assert.equal(errnoName(-trySetSocketNumber(fd, IPPROTO_TCP, 9999, 1)), 'ENOPROTOOPT');
  assert.throws(() => getSocketNumber(fd, IPPROTO_TCP, 9999), withCode('ERR_SYS_CALL', /9999/));
  closeFd(fd);
  const set = () => setSocketNumber(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  assert.throws(set, withCode('ERR_SYS_CALL', /EBADF/));
});

test('socket options: SO_BINDTODEVICE takes lo and refuses a missing interface', () => {
  const fd = keep(openStreamSocket('127.0.0.1'));
  assert.equal(setSocketText(fd, SOL_SOCKET, SO_BINDTODEVICE, 'lo'), 0);
  assert.equal(getSocketText(fd, SOL_SOCKET, SO_BINDTODEVICE), 'lo');
  const missing = setSocketText(fd, SOL_SOCKET, SO_BINDTODEVICE, 'no-such-nic0');
  assert.equal(errnoName(-missing), 'ENODEV');
});

test('socket options: TCP_CONGESTION is read, kept, and an unknown algorithm refused', () => {
  const fd = keep(openStreamSocket('127.0.0.1'));
  const current = getSocketText(fd, IPPROTO_TCP, TCP_CONGESTION);
  assert.match(current, /^[a-z0-9_]+$/);
  assert.equal(setSocketText(fd, IPPROTO_TCP, TCP_CONGESTION, current), 0);
  const unknown = setSocketText(fd, IPPROTO_TCP, TCP_CONGESTION, 'no_such_algo');
  assert.equal(errnoName(-unknown), 'ENOENT');
});

test('TCP_INFO: counts what a connection received', () => {
  const pair = openLoopbackPair();
  const table = createIovTable();
  setIov(table, 0, table.headerAddr, 1000);
  assert.equal(sendVector(pair.clientFd, table, 0, 1, 0), 1000);
  const info = readTcpInfo(pair.serverFd);
  assert.equal(info.state, 1); // TCP_ESTABLISHED
  assert.equal(info.bytesReceived, 1000);
  assert.ok(info.congestionWindow > 0);
  assert.ok(readTcpInfo(pair.clientFd).rttUs < 1e6);
  closeLoopbackPair(pair);
});

test('TCP_INFO: a shorter struct of an older kernel leaves later fields undefined', () => {
  const bytes = new Uint8Array(136);
  const view = new DataView(bytes.buffer);
  view.setUint32(68, 77, true);
  view.setUint32(120, 5, true);
  view.setUint32(124, 1, true);
  const info = decodeTcpInfo(bytes);
  assert.equal(info.rttUs, 77);
  assert.equal(info.bytesAcked, 2 ** 32 + 5);
  assert.equal(info.bytesReceived, 0);
  assert.equal(info.notSentBytes, undefined);
  assert.equal(info.deliveryRateBps, undefined);
});

test('address text: IPv6 stands in brackets', () => {
  assert.equal(formatAddress({ host: '::1', port: 7 }), '[::1]:7');
  assert.equal(formatAddress({ host: '10.0.0.1', port: 7 }), '10.0.0.1:7');
});
