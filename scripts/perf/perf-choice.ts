// What `npm run perf` shall run, from its words: how many rounds, which groups. Pure.

import { parseArgs } from 'node:util';

interface PerfChoice {
  readonly rounds: number;
  readonly groups: readonly string[];
}

const ROUNDS_DEFAULT = 5;

/** The choice, or what is wrong with the words: a run of nothing would meet every bar. */
export function choosePerf(
  words: readonly string[],
  known: readonly string[],
): PerfChoice | string {
  let parsed: { readonly rounds: string; readonly groups: readonly string[] };
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      allowPositionals: true,
      options: { rounds: { type: 'string', default: String(ROUNDS_DEFAULT) } },
    });
    parsed = { rounds: values.rounds, groups: positionals };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  const { rounds, groups } = parsed;
  if (!/^[1-9]\d*$/.test(rounds)) return `--rounds ${rounds}: a whole number from 1 on is wanted`;
  const unknown = groups.find((name) => !known.includes(name));
  if (unknown !== undefined) return `no group ${unknown}; there are: ${known.join(', ')}`;
  return { rounds: Number(rounds), groups: groups.length === 0 ? known : groups };
}
