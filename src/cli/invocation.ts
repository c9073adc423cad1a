// The words behind a command's name become its settings, flags and arguments.

import { parseArgs } from 'node:util';
import { loadConfig, processEnvironment } from '../base/config.js';
import { createLog } from '../base/log.js';
import { type SettingName, settingOf } from '../base/settings.js';
import { didYouMean } from '../base/suggestion.js';
import {
  type Command,
  commandFlags,
  commandSettings,
  flagOf,
  type Invocation,
  usageError,
} from './command.js';

/** As UCCL's benchmark has them. */
const FLAG_ALIASES: Readonly<Record<string, string>> = {
  ifaces: 'nics',
  nsocks: 'sockets',
  nthreads: 'threads',
  impl: 'unpack',
  'skip-warmup': 'warmup',
};

export function parseInvocation(command: Command, words: readonly string[]): Invocation {
  const { own, rest } = splitRest(words);
  if (rest.length > 0 && command.takesRest !== true) {
    throw usageError(command, 'nothing may follow --');
  }
  const parsed = parseFlags(command, own);
  if (parsed.positionals.length > (command.positionalsMax ?? 0)) {
    throw usageError(command, `unexpected argument ${JSON.stringify(parsed.positionals.at(-1))}`);
  }
  const config = loadConfig({
    flags: settingTexts(command, parsed),
    environment: processEnvironment(),
  });
  const text = (flag: string): string | undefined => {
    const value = parsed.values[flag];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    config,
    log: createLog({ level: config.values['log.level'], format: config.values['log.format'] }),
    positionals: parsed.positionals,
    rest,
    isJson: parsed.values['json'] === true,
    has: (flag) => parsed.values[flag] === true,
    text,
  };
}

/** Words of ours, and those behind `--` that belong to another program. */
export function splitRest(words: readonly string[]) {
  const index = words.indexOf('--');
  if (index < 0) return { own: words, rest: [] };
  return { own: words.slice(0, index), rest: words.slice(index + 1) };
}

interface ParsedFlags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

interface FlagOption {
  readonly type: 'string' | 'boolean';
  readonly short?: string;
}

function parseFlags(command: Command, words: readonly string[]): ParsedFlags {
  const options = optionsOf(command);
  const args = joinNegativeValues(words.map(replaceFlagAlias), options);
  try {
    const { values, positionals } = parseArgs({
      args,
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values, positionals };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('.')[0] ?? '') : String(error);
    const unknown = /^Unknown option '(-[^']*)'/.exec(reason)?.[1];
    const flags = Object.keys(options).map((name) => `--${name}`);
    const hint = unknown === undefined ? '' : didYouMean(unknown, flags);
    throw usageError(command, `${reason.charAt(0).toLowerCase()}${reason.slice(1)}${hint}`);
  }
}

function optionsOf(command: Command): Record<string, FlagOption> {
  const shorts = Object.entries(command.shortFlags ?? {});
  const option = (name: string, isBoolean: boolean): FlagOption => {
    const short = shorts.find(([, flag]) => flag === name)?.[0];
    const type = isBoolean ? 'boolean' : 'string';
    return short === undefined ? { type } : { type, short };
  };
  const options: Record<string, FlagOption> = {};
  for (const name of commandSettings(command)) {
    options[flagOf(name)] = option(flagOf(name), settingOf(name).kind === 'boolean');
  }
  for (const flag of commandFlags(command)) {
    options[flag.name] = option(flag.name, flag.kind === 'boolean');
  }
  return options;
}

function replaceFlagAlias(word: string): string {
  for (const [alias, flag] of Object.entries(FLAG_ALIASES)) {
    if (word === `--${alias}`) return `--${flag}`;
    if (word.startsWith(`--${alias}=`)) return `--${flag}${word.slice(alias.length + 2)}`;
  }
  return word;
}

// parseArgs takes `-1` for a flag; here it is a value (and then out of range, named as such).
function joinNegativeValues(
  words: readonly string[],
  options: Readonly<Record<string, FlagOption>>,
): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const previous = joined.at(-1) ?? '';
    const takesValue = options[previous.slice(2)]?.type === 'string';
    if (/^-\d/.test(word) && takesValue) joined[joined.length - 1] = `${previous}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function settingTexts(command: Command, { values, positionals }: ParsedFlags) {
  const texts: Partial<Record<SettingName, string>> = {};
  for (const name of commandSettings(command)) {
    const value = values[flagOf(name)];
    if (value !== undefined) texts[name] = String(value);
  }
  const set = (name: SettingName, text: string, said: string): void => {
    if (texts[name] !== undefined && texts[name] !== text) {
      const flag = `--${flagOf(name)} ${texts[name]}`;
      throw usageError(command, `${said} and ${flag} contradict each other`);
    }
    texts[name] = text;
  };
  for (const { name, sets } of command.flags ?? []) {
    if (sets !== undefined && values[name] === true) set(sets.name, sets.value, `--${name}`);
  }
  const { positionalSetting } = command;
  const text = positionalSetting === undefined ? undefined : positionals[positionalSetting.index];
  if (positionalSetting !== undefined && text !== undefined) {
    set(positionalSetting.name, text, JSON.stringify(text));
  }
  return texts;
}
