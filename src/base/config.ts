// Effective settings: flag over option over environment over profile over what is chosen for the
// host or the default, each remembering where it came from.
// Absent means default; present but unusable is an error, because a fallback hides mistakes.
// The only reader of process.env.

import { shownValue } from './argument.js';
import { TcpxError } from './errors.js';
import { type Profile, readProfile } from './profile.js';
import { hideProperties } from './secret-bytes.js';
import { describeRange, describeWanted, type Setting, type SettingValue } from './setting.js';
import {
  ENVIRONMENT_PREFIX,
  environmentName,
  SETTING_NAMES,
  type SettingName,
  type SettingValues,
  settingOf,
} from './settings.js';
import { didYouMean } from './suggestion.js';
import { parseBytes } from './units.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** One setting as it is in effect. */
export interface EffectiveSetting {
  /** Its name. */
  readonly name: SettingName;
  /** Its value; texts that are secret are hidden. */
  readonly value: SettingValue;
  /** `default`, `auto: REASON`, `profile FILE`, `environment NAME`, `flag --NAME` or `option`. */
  readonly origin: string;
}

/** Settings as they are in effect. */
export interface Config {
  /** By name, with defaults filled in. */
  readonly values: SettingValues;
  /** Each with where it came from, in the order of the table. */
  readonly effective: readonly EffectiveSetting[];
}

export interface ConfigSources {
  /** Texts from the command line, by setting name. */
  readonly flags?: Partial<Readonly<Record<SettingName, string>>>;
  /** Values from a program that uses the library. */
  readonly options?: Partial<SettingValues>;
  readonly environment?: Environment;
}

export function processEnvironment(): Environment {
  return process.env;
}

/** Variables for child processes, where the user has not set them. */
export function setDefaultVariables(variables: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
}

export function loadConfig(sources: ConfigSources = {}): Config {
  checkNames(sources);
  const { value: path } = resolveSetting('engine.profile', sources, undefined);
  const profile = path === '' ? undefined : readProfile(String(path));
  const effective = SETTING_NAMES.map((name) => resolveSetting(name, sources, profile));
  const values: Partial<Record<SettingName, SettingValue>> = {};
  for (const setting of effective) values[setting.name] = setting.value;
  const config: Config = {
    values: secretHidden(values as SettingValues),
    effective: effective.map(hidden),
  };
  checkConflicts(config.values);
  return config;
}

function secretHidden(values: SettingValues, secret = values['trust.secret']): SettingValues {
  return hideProperties({ ...values, 'trust.secret': secret }, ['trust.secret']);
}

/** Whether somebody has set it: here, in the environment or in a profile. */
export function isByHand(config: Config, name: SettingName): boolean {
  const origin = config.effective.find((setting) => setting.name === name)?.origin;
  return origin !== 'default' && origin?.startsWith(AUTO) !== true;
}

const AUTO = 'auto: ';

/** The same settings with one of them chosen for this host, unless somebody has chosen it. */
export function withAuto(
  config: Config,
  name: SettingName,
  value: SettingValue,
  reason: string,
): Config {
  const isUnset = config.effective.some((one) => one.name === name && one.origin === 'default');
  if (!isUnset) return config;
  const values = { ...config.values, [name]: value };
  const chosen = { name, value, origin: AUTO + reason };
  return {
    values: secretHidden(values, config.values['trust.secret']),
    effective: config.effective.map((setting) => (setting.name === name ? chosen : setting)),
  };
}

/** The origin of a secret may be seen, the secret not. */
function hidden(setting: EffectiveSetting): EffectiveSetting {
  const isSecret = setting.name === 'trust.secret' && setting.value !== '';
  return isSecret ? { ...setting, value: '(set)' } : setting;
}

/** A name that nobody reads is a mistake that would otherwise pass in silence. */
function checkNames({ flags, options, environment }: ConfigSources): void {
  const names: readonly string[] = SETTING_NAMES;
  for (const [given, origin] of [
    [flags, 'flag'],
    [options, 'option'],
  ] as const) {
    for (const name of Object.keys(given ?? {})) {
      if (!names.includes(name)) throw unknownName(name, names, `setting ${name} (${origin})`);
    }
  }
  const unknown = Object.entries(environment ?? {}).find(
    ([name, text]) =>
      name.startsWith(ENVIRONMENT_PREFIX) &&
      text !== undefined &&
      text !== '' &&
      !VARIABLE_NAMES.has(name),
  );
  if (unknown === undefined) return;
  throw unknownName(unknown[0], [...VARIABLE_NAMES], `environment variable ${unknown[0]}`);
}

function unknownName(name: string, known: readonly string[], what: string): TcpxError {
  const within = known.find((other) => other.startsWith(`${name}.`));
  const hint = within === undefined ? didYouMean(name, known) : `; names are whole: '${within}'`;
  return new TcpxError('ERR_CONFIG_UNKNOWN', `${what}: there is no setting of that name${hint}`, {
    facts: { name },
  });
}

/** Every variable that sets one, names of other systems included. */
const VARIABLE_NAMES: ReadonlySet<string> = new Set(
  SETTING_NAMES.flatMap((name) => [environmentName(name), ...(settingOf(name).aliases ?? [])]),
);

function resolveSetting(
  name: SettingName,
  sources: ConfigSources,
  profile: Profile | undefined,
): EffectiveSetting {
  const setting = settingOf(name);
  const flagText = sources.flags?.[name];
  if (flagText !== undefined) {
    return parsed(name, setting, flagText, `flag --${setting.flag ?? name}`);
  }
  const option = sources.options?.[name];
  if (option !== undefined) return parsed(name, setting, optionText(name, option), 'option');
  for (const variable of [environmentName(name), ...(setting.aliases ?? [])]) {
    const text = sources.environment?.[variable];
    if (text !== undefined && text !== '') {
      return parsed(name, setting, text, `environment ${variable}`);
    }
  }
  const measured = profile?.texts[name];
  if (profile !== undefined && measured !== undefined) {
    return parsed(name, setting, measured, `profile ${profile.path}`);
  }
  return { name, value: setting.fallback, origin: 'default' };
}

// Programs without types pass anything.
function optionText(name: SettingName, option: unknown): string {
  if (typeof option === 'string') return option;
  if (typeof option === 'number' || typeof option === 'boolean') return String(option);
  throw new TcpxError(
    'ERR_CONFIG_VALUE',
    `${name}: a setting is a text, a number, true or false, not ${shownValue(option)}`,
    { facts: { name, origin: 'option' } },
  );
}

function parsed(name: SettingName, setting: Setting, text: string, origin: string) {
  if (text === 'auto' && setting.canBeAuto === true) {
    return { name, value: setting.fallback, origin: 'default' };
  }
  const value = parseSettingValue(setting, text);
  if (value === undefined) {
    throw new TcpxError(
      'ERR_CONFIG_VALUE',
      `${name}: ${JSON.stringify(text)} from ${origin} is not allowed ` +
        `(${describeWanted(setting, text)})`,
      { facts: { name, value: text, origin, allowed: describeRange(setting) } },
    );
  }
  return { name, value, origin };
}

function parseSettingValue(setting: Setting, text: string): SettingValue | undefined {
  switch (setting.kind) {
    case 'choice':
      return setting.choices.includes(text) ? text : undefined;
    case 'boolean':
      return parseBoolean(text);
    case 'text':
      return text;
    case 'bytes':
      return inRange(parseBytes(text), setting.minimum, setting.maximum);
    case 'count':
    case 'ms':
    case 'us':
    case 'port':
      return inRange(
        /^\d+$/.test(text) ? Number(text) : undefined,
        setting.minimum,
        setting.maximum,
      );
  }
}

function parseBoolean(text: string): boolean | undefined {
  if (text === 'true' || text === '1') return true;
  if (text === 'false' || text === '0') return false;
  return undefined;
}

function inRange(value: number | undefined, minimum: number, maximum: number) {
  if (value === undefined || value < minimum || value > maximum) return undefined;
  return value;
}

function checkConflicts(values: SettingValues): void {
  if (values['lane.progress'] === 'caller' && values['lane.count'] > 1) {
    throw new TcpxError(
      'ERR_CONFIG_CONFLICT',
      `lane.count: ${values['lane.count']} lanes need threads, but lane.progress is caller`,
    );
  }
  if (values['session.local'] === 'shm' && values['socket.sendBy'] === 'zerocopy') {
    throw new TcpxError(
      'ERR_CONFIG_CONFLICT',
      'socket.sendBy: zerocopy, but session.local is shm, where no payload goes through a socket',
    );
  }
  if (values['bench.blockBytes'] > values['bench.sizeBytes']) {
    throw new TcpxError(
      'ERR_CONFIG_CONFLICT',
      `bench.blockBytes: a block of ${values['bench.blockBytes']} bytes does not fit in ` +
        `bench.sizeBytes ${values['bench.sizeBytes']}`,
    );
  }
}
