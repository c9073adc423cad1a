// Programmer errors: a false assertion is our bug, never the peer's or the user's.

export class AssertionFailure extends Error {
  override readonly name = 'AssertionFailure';
}

export function assert(condition: boolean, claim: string): asserts condition {
  if (!condition) throw new AssertionFailure(`assertion failed: ${claim}`);
}

export function unreachable(value: never): never {
  throw new AssertionFailure(`unreachable value: ${String(value)}`);
}
