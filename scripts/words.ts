// The words behind a script's name. `--help` prints how it is called; words that are wrong are
// named in one line and end the script with 2: a run of nothing would look good.

import { type ParseArgsConfig, parseArgs } from 'node:util';

type Parsed<T extends ParseArgsConfig> = ReturnType<typeof parseArgs<T>>;

/** What ends a script before it begins. */
export interface WordsEnd {
  readonly exitCode: 0 | 2;
  readonly text: string;
}

export function parseWords<T extends ParseArgsConfig>(
  words: readonly string[],
  usage: string,
  config: T,
): Parsed<T> | WordsEnd {
  if (words.includes('--help')) return { exitCode: 0, text: usage };
  try {
    return parseArgs({ ...config, args: [...words] }) as Parsed<T>;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { exitCode: 2, text: `${reason}\n${usage}` };
  }
}

/** The words of this process; ends it where there is nothing to run. */
export function readWords<T extends ParseArgsConfig>(usage: string, config: T): Parsed<T> {
  const parsed = parseWords(process.argv.slice(2), usage, config);
  if ('exitCode' in parsed) return endWith(parsed);
  return parsed;
}

/** A whole number from `least` on; anything else ends the process. */
export function readCount(flag: string, text: string, least = 1): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= least) return value;
  return refuse(`${flag} ${text}: a whole number from ${least} on is wanted`);
}

/** Ends the process for words that ask for nothing that there is. */
export function refuse(reason: string): never {
  return endWith({ exitCode: 2, text: reason });
}

function endWith({ exitCode, text }: WordsEnd): never {
  (exitCode === 0 ? process.stdout : process.stderr).write(`${text}\n`);
  process.exit(exitCode);
}
