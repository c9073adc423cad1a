// Which files `files` of package.json names: folders, paths and patterns with stars, and what a
// `!` takes out again. As npm has it, as far as that list goes. Pure.

/** Of these paths, relative to the root, those that are packed; `except` are entries left aside. */
export function packedPaths(
  entries: readonly string[],
  paths: readonly string[],
  except: readonly string[] = [],
): string[] {
  const missing = except.filter((entry) => !entries.includes(entry));
  if (missing.length > 0) throw new Error(`not in files of package.json: ${missing.join(', ')}`);
  const isOut = (entry: string): boolean => entry.startsWith('!');
  const wanted = entries.filter((entry) => !isOut(entry) && !except.includes(entry)).map(pattern);
  const unwanted = entries.filter(isOut).map((entry) => pattern(entry.slice(1)));
  const matches = (patterns: readonly RegExp[], path: string): boolean =>
    patterns.some((one) => one.test(path));
  return paths.filter((path) => matches(wanted, path) && !matches(unwanted, path));
}

/** The path itself, or whatever lies below it. */
function pattern(entry: string): RegExp {
  const text = entry
    .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('**/', '\0')
    .replaceAll('*', '[^/]*')
    .replaceAll('\0', '(?:.*/)?');
  return new RegExp(`^${text}(?:/.*)?$`);
}

/** Where to look for what an entry names: the folder before its first star. */
export function baseOf(entry: string): string {
  const folders = entry.split('/');
  const star = folders.findIndex((folder) => folder.includes('*'));
  return folders.slice(0, star < 0 ? undefined : star).join('/');
}
