// Numbers that the kernel answers with, by name (asm-generic; equal on x86-64 and arm64).

export const EPERM = 1;
export const ENOENT = 2;
export const ESRCH = 3;
export const EINTR = 4;
export const EIO = 5;
export const EBADF = 9;
export const EAGAIN = 11;
export const ENOMEM = 12;
export const EACCES = 13;
export const EFAULT = 14;
export const EINVAL = 22;
export const ENFILE = 23;
export const EMFILE = 24;
export const EPIPE = 32;
export const ENOSYS = 38;
export const EOPNOTSUPP = 95;
export const EADDRINUSE = 98;
export const ENETUNREACH = 101;
export const ECONNRESET = 104;
export const ENOBUFS = 105;
export const ENOTCONN = 107;
export const ETIMEDOUT = 110;
export const ECONNREFUSED = 111;
export const EINPROGRESS = 115;

const NAMES: Readonly<Record<number, string>> = {
  1: 'EPERM',
  2: 'ENOENT',
  3: 'ESRCH',
  4: 'EINTR',
  5: 'EIO',
  6: 'ENXIO',
  9: 'EBADF',
  11: 'EAGAIN',
  12: 'ENOMEM',
  13: 'EACCES',
  14: 'EFAULT',
  16: 'EBUSY',
  17: 'EEXIST',
  19: 'ENODEV',
  22: 'EINVAL',
  23: 'ENFILE',
  24: 'EMFILE',
  28: 'ENOSPC',
  32: 'EPIPE',
  38: 'ENOSYS',
  88: 'ENOTSOCK',
  90: 'EMSGSIZE',
  92: 'ENOPROTOOPT',
  95: 'EOPNOTSUPP',
  97: 'EAFNOSUPPORT',
  98: 'EADDRINUSE',
  99: 'EADDRNOTAVAIL',
  100: 'ENETDOWN',
  101: 'ENETUNREACH',
  103: 'ECONNABORTED',
  104: 'ECONNRESET',
  105: 'ENOBUFS',
  106: 'EISCONN',
  107: 'ENOTCONN',
  110: 'ETIMEDOUT',
  111: 'ECONNREFUSED',
  113: 'EHOSTUNREACH',
  114: 'EALREADY',
  115: 'EINPROGRESS',
};

export function errnoName(errno: number): string {
  return NAMES[errno] ?? `errno ${errno}`;
}
