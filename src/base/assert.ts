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
  if (value === undefined) throw new AssertionFailure(`assertion failed: ${place(list, index)}`);
  return value;
}

function place(list: ArrayLike<unknown>, index: number): string {
  return `index ${index} is one of ${list.length}`;
}

export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable value: ${String(value)}`);
}
