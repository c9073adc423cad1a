// A command: its name, its flags (from the settings table or its own) and its function.

import { parseArgs } from 'node:util';
import { type Config, loadConfig, processEnvironment } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import { createLog, type Log } from '../base/log.js';
import { describeRange } from '../base/setting.js';
import { environmentName, type SettingName, settingOf } from '../base/settings.js';
import { formatBytes } from '../base/units.js';

/** A flag of one command alone; settings that others share belong into the settings table. */
export interface OwnFlag {
  readonly name: string;
  readonly kind: 'boolean' | 'text';
  readonly summary: string;
}

export interface Command {
  /** Words that select it, for example `bench loopback`. */
  readonly name: string;
  readonly summary: string;
  /** Positional arguments as shown in the usage line, for example `HOST`. */
  readonly positionals?: string;
  readonly positionalsMax?: number;
  /** A positional that is the value of a setting: instead of the setting's flag. */
  readonly positionalSetting?: { readonly index: number; readonly name: SettingName };
  readonly settings: readonly SettingName[];
  readonly flags?: readonly OwnFlag[];
  /** Whether everything after `--` is handed to the command untouched. */
  readonly takesRest?: boolean;
  /** The exit code; a command that runs another one may hand on any status. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly config: Config;
  readonly log: Log;
  readonly positionals: readonly string[];
  /** What stood after `--`. */
  readonly rest: readonly string[];
  readonly isJson: boolean;
  has(flag: string): boolean;
  text(flag: string): string | undefined;
}

const COMMON_SETTINGS: readonly SettingName[] = ['log.level', 'log.format'];
const COMMON_FLAGS: readonly OwnFlag[] = [
  { name: 'json', kind: 'boolean', summary: 'Print one JSON document on stdout.' },
  { name: 'help', kind: 'boolean', summary: 'Print this help.' },
  { name: 'stack', kind: 'boolean', summary: 'Print the stack trace of an error.' },
];
const FLAG_ALIASES: Readonly<Record<string, string>> = { ifaces: 'nics' };

function commandSettings(command: Command): readonly SettingName[] {
  return [...command.settings, ...COMMON_SETTINGS];
}

export function parseInvocation(command: Command, words: readonly string[]): Invocation {
  const restIndex = words.indexOf('--');
  const own = restIndex < 0 ? words : words.slice(0, restIndex);
  const rest = restIndex < 0 ? [] : words.slice(restIndex + 1);
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

interface ParsedFlags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

function parseFlags(command: Command, words: readonly string[]): ParsedFlags {
  const options: Record<string, { type: 'string' | 'boolean' }> = {};
  for (const name of commandSettings(command)) {
    const setting = settingOf(name);
    if (setting.flag === undefined) continue;
    options[setting.flag] = { type: setting.kind === 'boolean' ? 'boolean' : 'string' };
  }
  for (const flag of [...COMMON_FLAGS, ...(command.flags ?? [])]) {
    options[flag.name] = { type: flag.kind === 'boolean' ? 'boolean' : 'string' };
  }
  const args = words.map(replaceFlagAlias);
  try {
    const { values, positionals } = parseArgs({
      args: joinNegativeValues(args, options),
      options,
      allowPositionals: true,
      strict: true,
    });
    return { values, positionals };
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('.')[0] ?? '') : String(error);
    throw usageError(command, reason.charAt(0).toLowerCase() + reason.slice(1));
  }
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
  options: Readonly<Record<string, { type: 'string' | 'boolean' }>>,
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
    const flag = settingOf(name).flag;
    const value = flag === undefined ? undefined : values[flag];
    if (value !== undefined) texts[name] = String(value);
  }
  if (command.positionalSetting === undefined) return texts;
  const { index, name } = command.positionalSetting;
  const text = positionals[index];
  if (text === undefined) return texts;
  if (texts[name] !== undefined && texts[name] !== text) {
    const flag = `--${settingOf(name).flag} ${texts[name]}`;
    throw usageError(command, `${JSON.stringify(text)} and ${flag} contradict each other`);
  }
  return { ...texts, [name]: text };
}

export function usageError(command: Command, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `tcpx ${command.name}: ${reason}`, {
    facts: { command: command.name },
  });
}

export function formatHelp(command: Command): string {
  const usage = ['tcpx', command.name, command.positionals ?? '', '[flags]']
    .filter((word) => word !== '')
    .join(' ');
  const lines = [`${usage}${command.takesRest === true ? ' -- COMMAND' : ''}`, '', command.summary];
  lines.push('', 'Flags:');
  for (const flag of command.flags ?? [])
    lines.push(...helpLines(ownFlagUsage(flag), flag.summary));
  for (const name of commandSettings(command)) {
    const setting = settingOf(name);
    if (setting.flag === undefined) continue;
    const value = setting.kind === 'boolean' ? '' : ` ${setting.kind.toUpperCase()}`;
    const fallback =
      setting.kind === 'bytes' && setting.fallback > 0
        ? formatBytes(setting.fallback)
        : String(setting.fallback) || 'none';
    const facts = `[${describeRange(setting)}; default ${fallback}; ${environmentName(name)}]`;
    lines.push(...helpLines(`--${setting.flag}${value}`, `${setting.summary} ${facts}`));
  }
  for (const flag of COMMON_FLAGS) lines.push(...helpLines(ownFlagUsage(flag), flag.summary));
  return `${lines.join('\n')}\n`;
}

function ownFlagUsage(flag: OwnFlag): string {
  return flag.kind === 'boolean' ? `--${flag.name}` : `--${flag.name} TEXT`;
}

const HELP_INDENT = 26;
const HELP_COLUMNS = 100;

function helpLines(usage: string, text: string): string[] {
  const lines: string[] = [];
  let line = `  ${usage}`.padEnd(HELP_INDENT);
  if (line.length > HELP_INDENT) {
    lines.push(line);
    line = ' '.repeat(HELP_INDENT);
  }
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > HELP_COLUMNS && line.trim() !== '') {
      lines.push(line.trimEnd());
      line = ' '.repeat(HELP_INDENT);
    }
    line += `${word} `;
  }
  lines.push(line.trimEnd());
  return lines;
}
