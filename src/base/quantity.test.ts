// The compiler is the test: each call marked below exchanges two numbers, and must not
// compile. What they are given does not matter.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  Address,
  ByteCount,
  ChunkIndex,
  Generation,
  RegionSlot,
  TransferSlot,
} from './quantity.js';

interface Calls {
  readonly place: (a: RegionSlot, b: Generation, c: Address, d: ByteCount) => void;
  readonly take: (a: TransferSlot, b: Generation, c: ChunkIndex) => void;
}

interface Numbers {
  readonly addr: Address;
  readonly bytes: ByteCount;
  readonly region: RegionSlot;
  readonly transfer: TransferSlot;
  readonly generation: Generation;
  readonly chunk: ChunkIndex;
}

function exchanges({ place, take }: Calls, numbers: Numbers): void {
  const { addr, bytes, region, transfer, generation, chunk } = numbers;
  place(region, generation, addr, bytes);
  // A plain number is any of them: sums and words of a frame need no cast.
  place(3, 1, addr + 64, bytes - 64);
  take(transfer, generation, chunk);
  // @ts-expect-error address and byte count
  place(region, generation, bytes, addr);
  // @ts-expect-error slot and generation
  place(generation, region, addr, bytes);
  // @ts-expect-error a transfer is no region
  place(transfer, generation, addr, bytes);
  // @ts-expect-error generation and chunk
  take(transfer, chunk, generation);
  // @ts-expect-error a region is no transfer
  take(region, generation, chunk);
}

test('quantities: they are numbers, and cost nothing', () => {
  const seen: number[] = [];
  const calls: Calls = {
    place: (...given) => seen.push(...given),
    take: (...given) => seen.push(...given),
  };
  const numbers = { addr: 4096, bytes: 128, region: 1, transfer: 2, generation: 7, chunk: 0 };
  exchanges(calls, numbers);
  assert.deepEqual(seen.slice(0, 11), [1, 7, 4096, 128, 3, 1, 4160, 64, 2, 7, 0]);
});
