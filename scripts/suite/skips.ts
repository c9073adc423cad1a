// Skipped tests. A skip is loud everywhere; where CI=true it is a failure, unless it waits for
// something that the machines of continuous integration never have.

export interface Skip {
  readonly path: string;
  readonly name: string;
  /** Empty where the test gave none. */
  readonly reason: string;
}

/** How a reason must begin for its skip to pass in continuous integration. */
const NEVER_IN_CI: readonly string[] = ['needs a GPU', 'needs PyTorch'];

export function forbiddenSkips(skips: readonly Skip[], isCi: boolean): Skip[] {
  if (!isCi) return [];
  return skips.filter(({ reason }) => !NEVER_IN_CI.some((prefix) => reason.startsWith(prefix)));
}

export function formatSkip({ path, name, reason }: Skip): string {
  return `${path}: ${name}: ${reason === '' ? '(no reason given)' : reason}`;
}
