// A command: its name, its flags (from the settings table or its own), examples and its function.
// Help, completion, the man page and the table in README.md come from this.

import type { Config } from '../base/config.js';
import { TcpxError } from '../base/errors.js';
import type { Log } from '../base/log.js';
import { type SettingName, settingOf } from '../base/settings.js';

/** A flag of one command alone; settings that others share belong into the settings table. */
export interface OwnFlag {
  readonly name: string;
  readonly kind: 'boolean' | 'text';
  readonly summary: string;
  /** Kind of value of a text flag, as help names it: FILE, N, SECONDS. */
  readonly value?: string;
  /** Where the value is one of few. */
  readonly choices?: readonly string[];
  /** Shown by `--help --all` only. */
  readonly isAdvanced?: boolean;
  /** A boolean flag that stands for the value of a setting. */
  readonly sets?: { readonly name: SettingName; readonly value: string };
}

export const COMMAND_GROUPS = {
  measure: 'Measure',
  serve: 'Serve programs of this node',
  host: 'See the host',
  diagnose: 'Find the reason',
  interrupts: 'Bind interrupts',
  plugin: 'Look into the plugin',
  settings: 'Settings and shell',
} as const;
export type CommandGroup = keyof typeof COMMAND_GROUPS;

/** A command line without `tcpx`, and what it does. */
export type Example = readonly [line: string, does: string];

export interface Command {
  /** Words that select it, for example `bench loopback`. */
  readonly name: string;
  readonly group: CommandGroup;
  readonly summary: string;
  /** Positional arguments as shown in the usage line, for example `HOST`. */
  readonly positionals?: string;
  readonly positionalsMax?: number;
  /** Where the first positional is one of few words. */
  readonly positionalChoices?: readonly string[];
  /** A positional that is the value of a setting: instead of the setting's flag. */
  readonly positionalSetting?: { readonly index: number; readonly name: SettingName };
  readonly settings: readonly SettingName[];
  /** Settings that mean something else here than elsewhere. */
  readonly meanings?: Readonly<Partial<Record<SettingName, SettingMeaning>>>;
  readonly flags?: readonly OwnFlag[];
  /** One letter for a flag, as another program's users know it. */
  readonly shortFlags?: Readonly<Record<string, string>>;
  /** Whether everything after `--` is handed to the command untouched. */
  readonly takesRest?: boolean;
  readonly examples: readonly [Example, Example, ...Example[]];
  /** The exit code; a command that runs another one may hand on any status. */
  run(invocation: Invocation): Promise<number>;
}

/** What help says of a setting in place of the table. */
export interface SettingMeaning {
  readonly summary: string;
  readonly fallback: string;
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

const COMMON_SETTINGS: readonly SettingName[] = ['log.level', 'log.format', 'engine.profile'];
/** Of every command. */
export const COMMON_FLAGS: readonly OwnFlag[] = [
  { name: 'json', kind: 'boolean', summary: 'Print JSON on stdout, one document; errors too.' },
  { name: 'help', kind: 'boolean', summary: 'Print this help; with --all every flag.' },
  {
    name: 'stack',
    kind: 'boolean',
    summary: 'Print the stack trace of an error.',
    isAdvanced: true,
  },
];

/** With those that every command has. */
export function commandSettings(command: Command): readonly SettingName[] {
  return [...command.settings, ...COMMON_SETTINGS].filter(
    (name) => settingOf(name).flag !== undefined,
  );
}

/** With those that every command has. */
export function commandFlags(command: Command): readonly OwnFlag[] {
  return [...(command.flags ?? []), ...COMMON_FLAGS];
}

/** The flag of one of `commandSettings`. */
export function flagOf(name: SettingName): string {
  return settingOf(name).flag ?? name;
}

export function usageLine(command: Command): string {
  const words = ['tcpx', command.name, command.positionals ?? '', '[flags]'];
  if (command.takesRest === true) words.push('-- COMMAND');
  return words.filter((word) => word !== '').join(' ');
}

export function usageError(command: Command, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `tcpx ${command.name}: ${reason}`, {
    facts: { command: command.name },
  });
}
