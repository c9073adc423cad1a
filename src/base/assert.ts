// Programmer errors: a false assertion is our bug, never the peer's or the user's.

export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailure(`assertion failed: ${claim}`);
}

/** The element at an index that is in range: anything else is our bug, not zero. */
export function at<T>(
  list: { readonly [index: number]: T; readonly length: number },
  index: number,
): T {
  const element = list[index];
  if (element === undefined) {
    throw new AssertionFailure(`assertion failed: index ${index} of ${list.length} is in range`);
  }
  return element;
}

export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable value: ${String(value)}`);
}
