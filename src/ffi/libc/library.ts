// libc as callable functions. Addresses and sizes are Numbers: integer-typed parameters cost no
// object per call. Results below zero become −errno, so that hot callers never touch errno.

import koffi from 'koffi';
import { assert } from '../../base/assert.js';
import { TcpxError } from '../../base/errors.js';
import { EMFILE, ENFILE, errnoName } from './errno.js';

const library = loadLibrary();

function loadLibrary() {
  if (process.platform !== 'linux') {
    throw new TcpxError(
      'ERR_CAP_PLATFORM',
      `probed process.platform: ${process.platform}, not linux`,
    );
  }
  try {
    return koffi.load('libc.so.6');
  } catch (error) {
    throw new TcpxError('ERR_CAP_PLATFORM', 'probed libc.so.6: not loadable (glibc is needed)', {
      cause: error,
    });
  }
}

/** Binds one C function; the caller states the TypeScript type of the same signature. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function bindFunction<F>(prototype: string): F {
  return library.func(prototype) as F;
}

/** Binds machine code at an address, which stays mapped while it may be called. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters
export function bindCode<F>(addr: number, result: string, parameters: readonly string[]): F {
  return koffi.decode(BigInt(addr), koffi.proto(result, [...parameters])) as F;
}

/** errno of the last call in this thread. */
export function lastErrno(): number {
  return koffi.errno();
}

/** A live view of foreign memory; the caller keeps the memory mapped while the view is in use. */
export function viewMemory(addr: number, bytes: number): ArrayBuffer {
  assert(Number.isSafeInteger(addr) && addr > 0, 'address is a safe positive integer');
  return koffi.view(addr, bytes);
}

/** Address of the first byte of JavaScript-owned memory. The owner must be kept referenced. */
export function addressOf(memory: ArrayBufferLike | ArrayBufferView): number {
  const bytes = ArrayBuffer.isView(memory)
    ? Buffer.from(memory.buffer, memory.byteOffset, memory.byteLength)
    : Buffer.from(memory);
  const addr = Number(koffi.address(bytes));
  assert(Number.isSafeInteger(addr), 'address fits in a Number');
  return addr;
}

/** Throws an ERR_SYS_ error when a call returned −errno; otherwise hands the result on. */
export function checkCall(call: string, object: string, result: number): number {
  if (result >= 0) return result;
  throw systemCallError(call, object, -result);
}

export function systemCallError(call: string, object: string, errno: number): TcpxError {
  const name = errnoName(errno);
  const isWant = errno === EMFILE || errno === ENFILE;
  return new TcpxError(
    isWant ? 'ERR_SYS_DESCRIPTORS' : 'ERR_SYS_CALL',
    `${call} ${object}: ${name}`.replace(' :', ':'),
    {
      facts: { call, errno, errnoName: name, object },
    },
  );
}

export function resultOrErrno(result: number): number {
  return result < 0 ? -lastErrno() : result;
}
