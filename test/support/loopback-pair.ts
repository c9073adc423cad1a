// Two connected TCP sockets on loopback, made by the same calls that the product uses.

import { EAGAIN } from '../../src/ffi/libc/errno.js';
import { closeFd } from '../../src/ffi/libc/file-descriptor.js';
import {
  acceptSocket,
  connectSocket,
  listenOn,
  localAddress,
  openStreamSocket,
} from '../../src/ffi/libc/socket.js';

export interface LoopbackPair {
  readonly clientFd: number;
  readonly serverFd: number;
}

export function openLoopbackPair(host = '127.0.0.1'): LoopbackPair {
  const listenFd = listenOn({ host, port: 0 }, 8);
  const clientFd = openStreamSocket(host);
  connectSocket(clientFd, localAddress(listenFd));
  const serverFd = acceptWithin(listenFd, 1000);
  closeFd(listenFd);
  return { clientFd, serverFd };
}

export function closeLoopbackPair(pair: LoopbackPair): void {
  closeFd(pair.clientFd);
  closeFd(pair.serverFd);
}

/** The next connection; loopback completes a connect before it returns, or very soon after. */
export function acceptWithin(listenFd: number, timeoutMs: number): number {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    const fd = acceptSocket(listenFd);
    if (fd !== -EAGAIN) return fd;
    if (performance.now() > endMs) throw new Error(`nobody connected within ${timeoutMs} ms`);
  }
}
