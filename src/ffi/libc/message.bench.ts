// What a call into libc costs: nothing in the kernel, an empty socket, a small vectored message.

import { closeLoopbackPair, openLoopbackPair } from '../../../test/support/loopback-pair.js';
import type { MicroCase, OpenMicroCase } from '../../../test/support/micro-bench.js';
import { EAGAIN } from './errno.js';
import { closeFd } from './file-descriptor.js';
import { bindFunction, checkCall, resultOrErrno } from './library.js';
import { mapMemory, unmapMemory } from './mapping.js';
import { receiveInto, sendVector, setIov } from './message.hot.js';
import { createIovTable, destroyIovTable } from './message.js';
import { scratchAddr, scratchView } from './scratch.js';

const AF_UNIX = 1;
const SOCK_STREAM = 1;
const HEAD_BYTES = 64;
const PAYLOAD_BYTES = 4096;

const getppid = bindFunction<() => number>('int getppid()');
const abs = bindFunction<(value: number) => number>('int abs(int value)');
const socketpair = bindFunction<(a: number, b: number, c: number, out: number) => number>(
  'int socketpair(int domain, int type, int protocol, uintptr_t out)',
);

function openPure(): OpenMicroCase {
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        if (abs(-index) !== index) throw new Error('abs is wrong');
      }
    },
    close: () => undefined,
  };
}

function openEmpty(): OpenMicroCase {
  const parent = process.ppid; // a getter that calls the kernel: not in the loop
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        if (getppid() !== parent) throw new Error('the parent has changed');
      }
    },
    close: () => undefined,
  };
}

function openReceive(): OpenMicroCase {
  const pair = openLoopbackPair();
  const memory = mapMemory(PAYLOAD_BYTES);
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        const received = receiveInto(pair.clientFd, memory.addr, PAYLOAD_BYTES);
        if (received !== -EAGAIN) throw new Error(`received ${received}`);
      }
    },
    close: () => {
      closeLoopbackPair(pair);
      unmapMemory(memory);
    },
  };
}

function openSend(): OpenMicroCase {
  checkCall('socketpair', '', resultOrErrno(socketpair(AF_UNIX, SOCK_STREAM, 0, scratchAddr)));
  const fds = [scratchView.getInt32(0, true), scratchView.getInt32(4, true)] as const;
  const bytes = HEAD_BYTES + PAYLOAD_BYTES;
  const memory = mapMemory(2 * PAYLOAD_BYTES);
  const table = createIovTable();
  return {
    run: (operations) => {
      for (let index = 0; index < operations; index++) {
        setIov(table, 0, memory.addr, HEAD_BYTES);
        setIov(table, 1, memory.addr + HEAD_BYTES, PAYLOAD_BYTES);
        if (sendVector(fds[0], table, 0, 2, 0) !== bytes) throw new Error('sent less');
        if (receiveInto(fds[1], memory.addr, bytes) !== bytes) throw new Error('received less');
      }
    },
    close: () => {
      for (const fd of fds) closeFd(fd);
      destroyIovTable(table);
      unmapMemory(memory);
    },
  };
}

export const MICRO_CASES: readonly MicroCase[] = [
  { name: 'ffi: call without a system call (abs)', operations: 500_000, open: openPure },
  { name: 'ffi: empty system call (getppid)', operations: 100_000, open: openEmpty },
  { name: 'ffi: recv on an empty TCP socket (EAGAIN)', operations: 50_000, open: openReceive },
  {
    name: 'ffi: sendmsg of 64 + 4096 bytes, and recv, Unix pair',
    operations: 20_000,
    open: openSend,
  },
];
