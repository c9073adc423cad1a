// Against the real kernel: a socket that is told to wake for bulk says nothing of less, and is
// never left with bytes that nobody hears of.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { closeFd, createEventFd } from '../../../ffi/libc/file-descriptor.js';
import { getSocketNumber, SO_RCVBUF, SO_RCVLOWAT, SOL_SOCKET } from '../../../ffi/libc/socket.js';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { Readiness, type Ready } from '../../../os/readiness.js';
import { TcpPort } from './tcp-port.js';

const WAKE_BYTES = 100_000;
const WAIT_MS = 50;

class Watch implements Ready {
  readonly sender: TcpPort;
  readonly receiver: TcpPort;
  readonly #readiness = new Readiness(createEventFd());
  readonly #memory = createFixedMemory(2 * WAKE_BYTES);
  #heard = 'nothing';

  constructor(t: TestContext, windowBytes = 1) {
    const pair = openLoopbackPair();
    const open = (fd: number): TcpPort =>
      new TcpPort(fd, 'copy', new Float64Array(ZERO_COPY_COUNTERS), windowBytes);
    this.sender = open(pair.clientFd);
    this.receiver = open(pair.serverFd);
    this.#readiness.add(this.receiver.fd, 1);
    this.#readiness.wait(0, this);
    t.after(() => {
      this.receiver.close(true);
      this.#readiness.close();
      closeFd(this.#readiness.doorbellFd);
      destroyFixedMemory(this.#memory);
    });
  }

  onReadable(_tag: number, isLast: boolean): void {
    this.#heard = isLast ? 'the end' : 'bytes';
  }

  onWritable(): void {
    // Always.
  }

  onNested(): void {
    // Nothing is nested.
  }

  send(bytes: number): void {
    this.sender.setSend(0, this.#memory.addr, bytes);
    assert.equal(this.sender.send(0, 1, false), bytes);
  }

  hears(): string {
    this.#heard = 'nothing';
    this.#readiness.wait(WAIT_MS, this);
    return this.#heard;
  }
}

function roomOf({ fd }: TcpPort): number {
  return getSocketNumber(fd, SOL_SOCKET, SO_RCVBUF);
}

test('wakeAt: fewer bytes are not told of, the one that makes them enough is', (t) => {
  const watch = new Watch(t);
  watch.receiver.wakeAt(WAKE_BYTES);
  watch.send(WAKE_BYTES / 2);
  assert.equal(watch.hears(), 'nothing');
  watch.send(WAKE_BYTES / 2);
  assert.equal(watch.hears(), 'bytes');
  watch.sender.close(true);
});

test('wakeAt: bytes that are already enough are told of at once', (t) => {
  const watch = new Watch(t);
  watch.receiver.wakeAt(WAKE_BYTES);
  watch.send(WAKE_BYTES / 2);
  assert.equal(watch.hears(), 'nothing');
  watch.receiver.wakeAt(1);
  assert.equal(watch.hears(), 'bytes');
  watch.sender.close(true);
});

test('wakeAt: the end of the stream is told of, however little came before it', (t) => {
  const watch = new Watch(t);
  watch.receiver.wakeAt(WAKE_BYTES);
  watch.send(10);
  watch.sender.close(false);
  assert.equal(watch.hears(), 'the end');
});

test('a port makes room for a large window, and is woken by a single byte all the same', (t) => {
  const windowBytes = 4 * 1024 * 1024;
  const { receiver } = new Watch(t, windowBytes);
  // The kernel grants up to half of the most that it would tune to, and as much again for what it
  // keeps beside the bytes.
  const most = Number(readFileSync('/proc/sys/net/ipv4/tcp_rmem', 'utf8').trim().split(/\s+/)[2]);
  const room = roomOf(receiver);
  assert.ok(room >= 2 * Math.min(windowBytes, most / 2), `${room} of ${most}`);
  assert.ok(roomOf(new Watch(t).receiver) < room);
  assert.equal(getSocketNumber(receiver.fd, SOL_SOCKET, SO_RCVLOWAT), 1);
});
