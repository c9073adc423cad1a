// Programmer errors: a false assertion is our bug, never the peer's or the user's.

export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailure(`assertion failed: ${claim}`);
}

/** The element at an index that must be in range. */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) throw outOfRange(list, index);
  return value;
}

// Loops over many elements use these: code that sees one kind of array alone is compiled for it.

export function floatAt(list: Float64Array, index: number): number {
  const value = list[index];
  if (value === undefined) throw outOfRange(list, index);
  return value;
}

export function wordAt(list: Uint32Array | Int32Array, index: number): number {
  const value = list[index];
  if (value === undefined) throw outOfRange(list, index);
  return value;
}

export function byteAt(list: Uint8Array, index: number): number {
  const value = list[index];
  if (value === undefined) throw outOfRange(list, index);
  return value;
}

function outOfRange(list: ArrayLike<unknown>, index: number): AssertionFailure {
  return new AssertionFailure(`assertion failed: index ${index} is one of ${list.length}`);
}

export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable value: ${String(value)}`);
}
