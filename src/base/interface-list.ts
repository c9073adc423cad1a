// A list of interfaces as NCCL and its plugins write them: names with commas between, `^` before
// the list for all but these, `=` for exact names. Plain words are prefixes there; on our own
// command line a name means that interface. Pure.

export interface InterfaceList {
  readonly words: readonly string[];
  readonly isExact: boolean;
  readonly isExcluding: boolean;
}

export function parseInterfaceList(text: string, arePlainWordsExact: boolean): InterfaceList {
  const isExcluding = text.startsWith('^');
  const rest = isExcluding ? text.slice(1) : text;
  const isMarked = rest.startsWith('=');
  const words = (isMarked ? rest.slice(1) : rest).split(',').map((word) => word.trim());
  return {
    words: words.filter((word) => word !== ''),
    isExact: isMarked || (arePlainWordsExact && !isExcluding),
    isExcluding,
  };
}

/** Of our own settings, where every word names one interface; empty for an empty text. */
export function splitNics(text: string): string[] {
  return text === '' ? [] : text.split(',').map((name) => name.trim());
}

export function isListed({ words, isExact, isExcluding }: InterfaceList, name: string): boolean {
  const isNamed = words.some((word) => (isExact ? name === word : name.startsWith(word)));
  return isNamed !== isExcluding;
}

/** Words that none of the names answers to; exclusions ask for nothing. */
export function unansweredWords(list: InterfaceList, names: readonly string[]): string[] {
  if (list.isExcluding) return [];
  return list.words.filter(
    (word) => !names.some((name) => isListed({ ...list, words: [word] }, name)),
  );
}
