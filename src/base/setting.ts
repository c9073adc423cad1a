// What a setting is: its kind, range, names, and what it costs to change it.

import { didYouMean } from './suggestion.js';
import { formatBytes } from './units.js';

/** What a setting may be. */
export type SettingValue = number | string | boolean;

interface SettingCommon {
  /** Long flag without dashes, where the command line offers it. */
  readonly flag?: string;
  /** Names of other systems that are accepted from the environment, first found wins. */
  readonly aliases?: readonly string[];
  /** Where nobody sets it, or sets it to `auto`, the engine chooses a value for the host. */
  readonly canBeAuto?: true;
  readonly summary: string;
  /** What turning the knob costs or risks. */
  readonly cost: string;
}

export interface NumberSetting extends SettingCommon {
  readonly kind: 'bytes' | 'count' | 'ms' | 'us' | 'port';
  readonly fallback: number;
  readonly minimum: number;
  readonly maximum: number;
}

export interface ChoiceSetting extends SettingCommon {
  readonly kind: 'choice';
  readonly fallback: string;
  readonly choices: readonly string[];
}

export interface TextSetting extends SettingCommon {
  readonly kind: 'text';
  readonly fallback: string;
  /** What the text names, as help shows it: FILE, ADDRESS. Wanted where there is a flag. */
  readonly value?: string;
}

export interface BooleanSetting extends SettingCommon {
  readonly kind: 'boolean';
  readonly fallback: boolean;
}

export type Setting = NumberSetting | ChoiceSetting | TextSetting | BooleanSetting;

export function describeRange(setting: Setting): string {
  const hasAuto = setting.kind === 'choice' && setting.choices.includes('auto');
  const isAdded = setting.canBeAuto === true && !hasAuto;
  return isAdded ? `${rangeOf(setting)}, auto` : rangeOf(setting);
}

function rangeOf(setting: Setting): string {
  switch (setting.kind) {
    case 'choice':
      return setting.choices.join(', ');
    case 'boolean':
      return 'true, false';
    case 'text':
      return 'text';
    case 'bytes':
      return `${sizeOf(setting.minimum)} … ${sizeOf(setting.maximum)}`;
    case 'count':
    case 'ms':
    case 'us':
    case 'port':
      return `${setting.minimum} … ${setting.maximum}`;
  }
}

/** As people write sizes; nothing is 0 without a unit. */
export function sizeOf(bytes: number): string {
  return bytes === 0 ? '0' : formatBytes(bytes);
}

const NOUNS = {
  bytes: 'a size such as 64MiB',
  count: 'a whole number',
  ms: 'a time in ms',
  us: 'a time in µs',
  port: 'a port',
  choice: 'one of',
  boolean: 'one of',
} as const;

/** What a value of it must be, for whoever gave another. */
export function describeWanted(setting: Setting, given: string): string {
  if (setting.kind === 'text') return 'text';
  const range = describeRange(setting);
  if (setting.kind !== 'choice') return `${NOUNS[setting.kind]}, ${range}`.replace('of,', 'of');
  return `${NOUNS.choice} ${range}${didYouMean(given, setting.choices)}`;
}
