// An invariant does not hold: the run has found something.

export class Violation extends Error {
  override readonly name = 'Violation';
}
