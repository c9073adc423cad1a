// Memory outside the JavaScript heap whose address stays: out-parameters of driver calls and the
// parameter blocks of kernel launches.

import koffi from 'koffi';
import { assert } from '../../base/assert.js';

const TWO_32 = 2 ** 32;

/** Numbers go in and come out; a 64-bit value must be a safe integer, as ours are. */
export class FixedMemory {
  readonly addr: number;
  readonly bytes: number;
  /** All of it, in 32-bit parts. */
  readonly parts: Uint32Array;
  private readonly octets: Uint8Array;
  private readonly pointer: unknown;

  constructor(bytes: number) {
    assert(bytes > 0 && bytes % 8 === 0, 'fixed memory comes in multiples of eight bytes');
    const pointer: unknown = koffi.alloc('uint8', bytes);
    this.addr = toAddress(koffi.address(pointer));
    this.bytes = bytes;
    this.pointer = pointer;
    const buffer = koffi.view(pointer, bytes);
    this.parts = new Uint32Array(buffer);
    this.octets = new Uint8Array(buffer).fill(0);
  }

  setUint32(offset: number, value: number): void {
    this.parts[offset >>> 2] = value;
  }

  setUint64(offset: number, value: number): void {
    // A Uint32Array keeps the low 32 bits of what is stored and drops any fraction.
    this.parts[offset >>> 2] = value;
    this.parts[(offset >>> 2) + 1] = value / TWO_32;
  }

  uint32(offset: number): number {
    return this.parts[offset >>> 2] ?? 0;
  }

  int32(offset: number): number {
    return this.uint32(offset) | 0;
  }

  /** Asserts that the value is a safe integer: our addresses and sizes are. */
  uint64(offset: number): number {
    const value = this.uint32(offset + 4) * TWO_32 + this.uint32(offset);
    assert(Number.isSafeInteger(value), 'a 64-bit value from the driver fits a Number');
    return value;
  }

  float32(offset: number): number {
    return new DataView(this.octets.buffer).getFloat32(offset, true);
  }

  setBytes(offset: number, bytes: Uint8Array): void {
    this.octets.set(bytes, offset);
  }

  copyOut(offset: number, bytes: number): Uint8Array {
    return this.octets.slice(offset, offset + bytes);
  }

  /** The text up to the first zero byte. */
  text(offset: number, bytesMax: number): string {
    const bytes = this.octets.subarray(offset, offset + bytesMax);
    const end = bytes.indexOf(0);
    return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString('latin1');
  }

  clear(): void {
    this.octets.fill(0);
  }

  /** The owner uses neither the address nor this object afterwards. */
  free(): void {
    koffi.free(this.pointer);
  }
}

function toAddress(value: bigint): number {
  const addr = Number(value);
  assert(Number.isSafeInteger(addr), 'an address fits a Number');
  return addr;
}

/** A live view of memory that somebody else owns; valid until its owner frees it. */
export function viewMemory(addr: number, bytes: number): ArrayBuffer {
  return koffi.view(BigInt(addr), bytes);
}

/** The C string at an address. */
export function textAt(addr: number): string {
  return koffi.decode.string(BigInt(addr));
}

/** Address of a typed array's bytes; they stay in place as long as the array is referenced. */
export function addressOf(bytes: Uint8Array): number {
  return toAddress(koffi.address(bytes));
}
