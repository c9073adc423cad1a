// One TCP stream over loopback, as fast as it goes: a sending and a receiving thread, with a given
// congestion control. Measured where it is received, after a warm-up.

import { EAGAIN, EINPROGRESS } from '../ffi/libc/errno.js';
import { closeFd } from '../ffi/libc/file-descriptor.js';
import { checkCall } from '../ffi/libc/library.js';
import { receiveInto, sendVector, setIov } from '../ffi/libc/message.hot.js';
import { createIovTable, destroyIovTable } from '../ffi/libc/message.js';
import { waitReadable, waitWritable } from '../ffi/libc/poll.js';
import {
  acceptSocket,
  connectSocket,
  listenOn,
  localAddress,
  openStreamSocket,
  takeSocketError,
} from '../ffi/libc/socket.js';
import { readTcpInfo } from '../ffi/libc/tcp-info.js';
import { setCongestion } from '../os/congestion.js';
import { createFixedMemory, destroyFixedMemory } from '../os/fixed-memory.js';

const HOST = '127.0.0.1';
const BLOCK_BYTES = 256 * 1024;
const WARM_MS = 100;
const TIMED_MS = 350;
/** A connection that stands still for so long has failed. */
const SILENCE_MS = 5_000;
const WAIT_MS = 50;

export interface StreamListener {
  readonly fd: number;
  readonly port: number;
}

/** Congestion control is inherited by what is accepted; empty keeps the kernel's. */
export function openStreamListener(congestion: string): StreamListener {
  const fd = listenOn({ host: HOST, port: 0 }, 1, (socket) => setCongestion(socket, congestion));
  return { fd, port: localAddress(fd).port };
}

export function closeStreamListener({ fd }: StreamListener): void {
  closeFd(fd);
}

/** Sends until the time is over; the round trip in microseconds as the kernel saw it. */
export function sendStream(port: number, congestion: string): number {
  const fd = openStreamSocket(HOST);
  const memory = createFixedMemory(BLOCK_BYTES, { isPopulated: true });
  const table = createIovTable();
  try {
    setCongestion(fd, congestion);
    connect(fd, port);
    setIov(table, 0, memory.addr, BLOCK_BYTES);
    const endMs = performance.now() + WARM_MS + TIMED_MS;
    let movedMs = performance.now();
    while (performance.now() < endMs) {
      const sent = sendVector(fd, table, 0, 1, 0);
      if (sent > 0) movedMs = performance.now();
      else if (sent === -EAGAIN) waitWritable(fd, WAIT_MS);
      else checkCall('send', 'loopback stream', sent);
      checkSilence(movedMs);
    }
    return readTcpInfo(fd).rttUs;
  } finally {
    closeFd(fd);
    destroyIovTable(table);
    destroyFixedMemory(memory);
  }
}

function connect(fd: number, port: number): void {
  const started = connectSocket(fd, { host: HOST, port });
  if (started === -EINPROGRESS) waitWritable(fd, WAIT_MS);
  else if (started < 0) checkCall('connect', 'loopback stream', started);
  const errno = takeSocketError(fd);
  if (errno !== 0) checkCall('connect', 'loopback stream', -errno);
}

/** GB/s, that is 10^9 bytes, from the end of the warm-up to the end of the stream. */
export function receiveStream(listenerFd: number): number {
  const fd = accept(listenerFd);
  const memory = createFixedMemory(BLOCK_BYTES, { isPopulated: true });
  try {
    const beganMs = performance.now();
    let movedMs = beganMs;
    let timedFromMs = 0;
    let bytes = 0;
    for (;;) {
      const received = receiveInto(fd, memory.addr, BLOCK_BYTES);
      if (received === 0) break;
      if (received > 0) {
        movedMs = performance.now();
        if (timedFromMs > 0) bytes += received;
        else if (movedMs - beganMs >= WARM_MS) timedFromMs = movedMs;
      } else if (received === -EAGAIN) waitReadable([fd], WAIT_MS);
      else checkCall('receive', 'loopback stream', received);
      checkSilence(movedMs);
    }
    return bytes / (movedMs - timedFromMs) / 1e6;
  } finally {
    closeFd(fd);
    destroyFixedMemory(memory);
  }
}

function accept(listenerFd: number): number {
  const beganMs = performance.now();
  for (;;) {
    const fd = acceptSocket(listenerFd);
    if (fd >= 0) return fd;
    if (fd !== -EAGAIN) checkCall('accept', 'loopback stream', fd);
    waitReadable([listenerFd], WAIT_MS);
    checkSilence(beganMs);
  }
}

function checkSilence(sinceMs: number): void {
  if (performance.now() - sinceMs > SILENCE_MS) throw new Error('the stream stands still');
}
