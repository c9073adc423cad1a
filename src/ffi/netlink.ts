// Netlink sockets: one that sends a request and collects the answer, and one that hears of links.
// Framing is in netlink-message.ts and link-message.ts.

import koffi from 'koffi';
import { endsAnswer } from './netlink-message.js';

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const SOCK_NONBLOCK = 0o4000;
const NETLINK_ROUTE = 0;
/** Of the address: family, padding, port (the kernel's choice), groups. */
const RTMGRP_LINK = 1;
const NETLINK_GENERIC = 16;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
/** The kernel sends at most 32 KiB per datagram of a dump. */
const RECEIVE_BYTES = 64 * 1024;
/** No foreign call may wait longer: it would hold up the end of the process. */
const WAIT_US = 100_000;
const DATAGRAMS_MAX = 10_000;

const libc = koffi.load(null);
const func = (signature: string) => libc.func(signature) as (...args: number[]) => number;
const socketCall = func('int socket(int, int, int)');
const bindCall = func('int bind(int, uintptr_t, uint32_t)');
const closeCall = func('int close(int)');
const sendCall = func('intptr_t send(int, uintptr_t, size_t, int)');
const recvCall = func('intptr_t recv(int, uintptr_t, size_t, int)');
const setsockoptCall = func('int setsockopt(int, int, int, uintptr_t, uint32_t)');

export interface NetlinkSocket {
  /** The datagrams of the answer, or the errno of send or receive. */
  request(message: Uint8Array): readonly Buffer[] | number;
  close(): void;
}

export function openGenericNetlink(): NetlinkSocket | number {
  const fd = socketCall(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
  if (fd < 0) return koffi.errno();
  const timeout = new BigInt64Array([0n, BigInt(WAIT_US)]);
  setsockoptCall(fd, SOL_SOCKET, SO_RCVTIMEO, addressOf(timeout.buffer), timeout.byteLength);
  return {
    request: (message) => request(fd, message),
    close: () => {
      closeCall(fd);
    },
  };
}

/** Hears of interfaces that go up or down; does not wait. */
export interface LinkSocket {
  readonly fd: number;
  /** The next datagram, or undefined when there is none. */
  receive(): Buffer | undefined;
  close(): void;
}

/** Or the errno. */
export function openLinkSocket(): LinkSocket | number {
  const type = SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const fd = socketCall(AF_NETLINK, type, NETLINK_ROUTE);
  if (fd < 0) return koffi.errno();
  const address = new Uint32Array([AF_NETLINK, 0, RTMGRP_LINK]);
  if (bindCall(fd, addressOf(address.buffer), address.byteLength) < 0) {
    const errno = koffi.errno();
    closeCall(fd);
    return errno;
  }
  const incoming = new ArrayBuffer(RECEIVE_BYTES);
  return {
    fd,
    receive: () => {
      const count = recvCall(fd, addressOf(incoming), RECEIVE_BYTES, 0);
      return count < 0 ? undefined : Buffer.from(incoming.slice(0, count));
    },
    close: () => {
      closeCall(fd);
    },
  };
}

function request(fd: number, message: Uint8Array): readonly Buffer[] | number {
  // A copy of its own: the bytes of a small Uint8Array may lie in the moving heap.
  const outgoing = new ArrayBuffer(message.byteLength);
  Buffer.from(outgoing).set(message);
  if (sendCall(fd, addressOf(outgoing), message.byteLength, 0) < 0) return koffi.errno();
  const incoming = new ArrayBuffer(RECEIVE_BYTES);
  const datagrams: Buffer[] = [];
  while (datagrams.length < DATAGRAMS_MAX) {
    const count = recvCall(fd, addressOf(incoming), RECEIVE_BYTES, 0);
    if (count < 0) return koffi.errno();
    const datagram = Buffer.from(incoming.slice(0, count));
    datagrams.push(datagram);
    if (endsAnswer(datagram)) break;
  }
  return datagrams;
}

function addressOf(memory: ArrayBuffer): number {
  return Number(koffi.address(memory));
}
