// On which NUMA node pages come to lie when they are touched first. A preference, no more: where
// the node has no page left, another gives one. libc has no names for these calls.

import { bindFunction, resultOrErrno } from './library.js';
import { scratchAddr, scratchBytes, scratchView } from './scratch.js';

const IS_X64 = process.arch === 'x64';
const SYS_MBIND = IS_X64 ? 237 : 235;
const SYS_SET_MEMPOLICY = IS_X64 ? 238 : 237;
const SYS_GET_MEMPOLICY = IS_X64 ? 239 : 236;
const MPOL_PREFERRED = 1;
const MPOL_F_NODE = 1;
const MPOL_F_ADDR = 2;
/** Nodes that a mask has room for; the kernel counts one less than it is told. */
const NODES_MAX = 1023;
const MASK_BYTES = 128;

// Each is told the number of its call first.
type NumberedCall = (...words: readonly number[]) => number;
/** Address, bytes, mode, mask, its bits, flags. */
const mbindC = bindFunction<NumberedCall>(
  'int64_t syscall(int64_t n, uintptr_t a, size_t b, int64_t c, uintptr_t d, int64_t e, int64_t f)',
);
/** Mode, mask, its bits. */
const setPolicyC = bindFunction<NumberedCall>(
  'int64_t syscall(int64_t n, int64_t a, uintptr_t b, int64_t c)',
);
/** Where the mode goes, where the mask goes, its bits, address, flags. */
const getPolicyC = bindFunction<NumberedCall>(
  'int64_t syscall(int64_t n, uintptr_t a, uintptr_t b, int64_t c, uintptr_t d, int64_t e)',
);

function writeMask(node: number): void {
  scratchBytes.fill(0, 0, MASK_BYTES);
  scratchBytes[node >> 3] = 1 << (node & 7);
}

/**
 * What the calling thread touches first from now on; false where the kernel declines: it knows no
 * nodes, or not this one, or this process may not use it.
 */
export function preferNodeForThread(node: number): boolean {
  if (node >= NODES_MAX) return false;
  writeMask(node);
  const bits = NODES_MAX + 1;
  return resultOrErrno(setPolicyC(SYS_SET_MEMPOLICY, MPOL_PREFERRED, scratchAddr, bits)) === 0;
}

/** Whoever touches these whole pages first; false as above. */
export function preferNodeForRange(addr: number, bytes: number, node: number): boolean {
  if (node >= NODES_MAX) return false;
  writeMask(node);
  const bits = NODES_MAX + 1;
  const result = mbindC(SYS_MBIND, addr, bytes, MPOL_PREFERRED, scratchAddr, bits, 0);
  return resultOrErrno(result) === 0;
}

/** The node on which a page lies, which is touched for it; undefined where there are no nodes. */
export function nodeOfPage(addr: number): number | undefined {
  const flags = MPOL_F_NODE | MPOL_F_ADDR;
  const result = getPolicyC(SYS_GET_MEMPOLICY, scratchAddr, 0, 0, addr, flags);
  return resultOrErrno(result) === 0 ? scratchView.getInt32(0, true) : undefined;
}
