// Commands that run a command: where that is ours, it is this very program.

const NAMES: readonly string[] = ['tcpx', 'nixl-tcpx'];

export function isOwnProgram(words: readonly string[]): boolean {
  return NAMES.includes(words[0] ?? '');
}

/** `tcpx` is what runs now, whatever PATH says, and also where PATH has none. */
export function programWords(words: readonly string[]): readonly string[] {
  if (!isOwnProgram(words)) return words;
  return [process.execPath, process.argv[1] ?? '', ...words.slice(1)];
}
