// NIXL's memory types and operations with their wire numbers.

import { wrongArgument } from '../base/argument.js';
import { TcpxError } from '../base/errors.js';

/** Kinds of memory, with NIXL's numbers. */
export const MemType = Object.freeze({
  DRAM: 0,
  VRAM: 1,
  BLK: 2,
  OBJ: 3,
  FILE: 4,
} as const);
export type MemType = (typeof MemType)[keyof typeof MemType];

/** What a transfer does, with NIXL's numbers. */
export const XferOp = Object.freeze({ READ: 0, WRITE: 1 } as const);
export type XferOp = (typeof XferOp)[keyof typeof XferOp];

/** What a transfer does, as a number or by its name, as in NIXL's Python API. */
export type XferOpInput = XferOp | keyof typeof XferOp;

const OPERATIONS: ReadonlyMap<unknown, XferOp> = new Map(
  Object.entries(XferOp).flatMap(([name, op]): [unknown, XferOp][] => [
    [name, op],
    [op, op],
  ]),
);

/** Refuses what is neither. */
export function xferOpOf(op: XferOpInput, attempted: string): XferOp {
  const known = OPERATIONS.get(op);
  if (known !== undefined) return known;
  throw wrongArgument(`${attempted}: the operation`, 'READ or WRITE', op);
}

const MEM_TYPE_NAMES = ['DRAM_SEG', 'VRAM_SEG', 'BLK_SEG', 'OBJ_SEG', 'FILE_SEG'] as const;

const MEM_TYPE_COUNT = MEM_TYPE_NAMES.length;

export function isMemType(value: number): value is MemType {
  return Number.isInteger(value) && value >= 0 && value < MEM_TYPE_COUNT;
}

/** Of any kind that NIXL names, also those that nothing here moves. */
export function checkMemType(what: string, value: unknown): void {
  if (typeof value === 'number' && isMemType(value)) return;
  throw wrongArgument(`${what}: memType`, 'one of MemType', value);
}

export function memTypeName(memType: number): string {
  return MEM_TYPE_NAMES[memType] ?? `memory type ${memType}`;
}

/**
 * This product moves host and GPU memory. Storage types are known by name; as in an agent of NIXL
 * without a backend for them, nothing of theirs is found.
 */
export function checkMovable(memType: number, attempted: string): asserts memType is MemType {
  if (memType === MemType.DRAM || memType === MemType.VRAM) return;
  throw new TcpxError(
    isMemType(memType) ? 'ERR_USAGE_NOT_FOUND' : 'ERR_USAGE_ARGUMENT',
    `${attempted}: no backend takes ${memTypeName(memType)}; DRAM_SEG and VRAM_SEG are moved`,
    { facts: { memType } },
  );
}
