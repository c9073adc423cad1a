// SIOCETHTOOL: one request to the driver of a network interface. Only the call is here; what the
// bytes of a request mean is known in host/.

import koffi from 'koffi';

const AF_INET = 2;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const SIOCETHTOOL = 0x8946;
const NAME_BYTES = 16;
const REQUEST_BYTES = 40;

const libc = koffi.load(null);
const socketCall = libc.func('int socket(int, int, int)') as (...args: number[]) => number;
const closeCall = libc.func('int close(int)') as (fd: number) => number;
// Declared with three fixed parameters: the calling conventions of x86-64 and arm64 Linux pass a
// variadic integer the same way.
const ioctlCall = libc.func('int ioctl(int, unsigned long, uintptr_t)') as (
  ...args: number[]
) => number;

export interface EthtoolSocket {
  /**
   * Sends the request in `memory` for one interface; the driver answers into the same memory.
   * Returns 0 or the errno. An ArrayBuffer's bytes never move, so its address stays good.
   */
  call(nic: string, memory: ArrayBuffer): number;
  close(): void;
}

/** Returns the errno instead of a socket when none can be made. */
export function openEthtoolSocket(): EthtoolSocket | number {
  const fd = socketCall(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return koffi.errno();
  const request = new ArrayBuffer(REQUEST_BYTES);
  return {
    call: (nic, memory) => callDriver(fd, request, nic, memory),
    close: () => {
      closeCall(fd);
    },
  };
}

function callDriver(fd: number, request: ArrayBuffer, nic: string, memory: ArrayBuffer): number {
  const bytes = Buffer.from(request);
  bytes.fill(0);
  bytes.write(nic.slice(0, NAME_BYTES - 1), 'latin1');
  bytes.writeBigUInt64LE(koffi.address(memory), NAME_BYTES);
  const result = ioctlCall(fd, SIOCETHTOOL, Number(koffi.address(request)));
  return result < 0 ? koffi.errno() : 0;
}
