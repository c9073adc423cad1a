// Which of the published versions of Node is the newest of its release line.

/** The newest release of a major version; undefined where there is none. */
export function newestOf(versions: readonly string[], major: number): string | undefined {
  return versions
    .filter((version) => new RegExp(`^${major}\\.\\d+\\.\\d+$`).test(version))
    .sort(compareVersions)
    .at(-1);
}

function compareVersions(left: string, right: string): number {
  const leftParts = left.split('.').map(Number);
  const rightParts = right.split('.').map(Number);
  for (const [index, part] of leftParts.entries()) {
    const difference = part - (rightParts[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
