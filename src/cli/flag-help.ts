// The flags of a command as help, completion and the man page show them: name, kind of value,
// sentence, and whether everyday use needs them.

import { describeRange, type Setting } from '../base/setting.js';
import { environmentName, type SettingName, settingOf } from '../base/settings.js';
import { formatBytes } from '../base/units.js';
import {
  COMMON_FLAGS,
  type Command,
  commandSettings,
  flagOf,
  type OwnFlag,
  type SettingMeaning,
} from './command.js';

export interface FlagHelp {
  readonly name: string;
  /** One letter that means the same; empty where there is none. */
  readonly short: string;
  /** Empty for a flag without value. */
  readonly value: string;
  readonly choices: readonly string[];
  readonly summary: string;
  /** Range, default and variable of a setting; empty for a command's own flag. */
  readonly facts: string;
  /** Empty where there is none. */
  readonly fallback: string;
  readonly isAdvanced: boolean;
  /** Heading under which `--help --all` lists it. */
  readonly area: string;
}

/** Settings that help shows without being asked for all. */
const EVERYDAY: ReadonlySet<SettingName> = new Set<SettingName>([
  'bench.op',
  'bench.sizeBytes',
  'bench.iterations',
  'bench.seconds',
  'bench.verify',
  'bench.memory',
  'bench.gpu',
  'engine.provider',
  'flow.channels',
  'flow.chunkBytes',
  'lane.progress',
  'session.nics',
  'session.port',
  'session.local',
  'service.folder',
  'service.clientsMax',
  'trust.mode',
  'trust.secretFile',
  'plugin.path',
  'log.level',
]);

const AREAS: Readonly<Record<string, string>> = {
  bench: 'Benchmark',
  engine: 'Engine',
  flow: 'Channels and chunks',
  gpu: 'GPU memory',
  lane: 'Lanes',
  log: 'Output and help',
  plugin: 'Plugin',
  service: 'Service',
  session: 'Session',
  socket: 'Sockets',
  tcpx: 'tcpx provider',
  trust: 'Trust',
};
const OWN_AREA = 'Flags';
const COMMON_AREA = 'Output and help';

export function flagsOf(command: Command): readonly FlagHelp[] {
  const shorts = Object.entries(command.shortFlags ?? {});
  const shortOf = (name: string) => shorts.find(([, flag]) => flag === name)?.[0] ?? '';
  const own = (flag: OwnFlag, area: string) => ownFlagHelp(flag, shortOf(flag.name), area);
  return [
    ...(command.flags ?? []).map((flag) => own(flag, OWN_AREA)),
    ...commandSettings(command).map((name) =>
      settingHelp(name, shortOf(flagOf(name)), command.meanings?.[name]),
    ),
    ...COMMON_FLAGS.map((flag) => own(flag, COMMON_AREA)),
  ];
}

function ownFlagHelp(flag: OwnFlag, short: string, area: string): FlagHelp {
  const { name, summary, choices = [], isAdvanced = false } = flag;
  const value = flag.kind === 'boolean' ? '' : (flag.value ?? choicesName(choices));
  return { name, short, value, choices, summary, facts: '', fallback: '', isAdvanced, area };
}

function settingHelp(name: SettingName, short: string, meaning?: SettingMeaning): FlagHelp {
  const setting = settingOf(name);
  const fallback = meaning?.fallback ?? fallbackText(setting);
  return {
    name: flagOf(name),
    short,
    value: valueName(setting),
    choices: setting.kind === 'choice' ? setting.choices : [],
    summary: meaning?.summary ?? setting.summary,
    facts: [...rangeText(setting), `default ${fallback}`, environmentName(name)].join('; '),
    fallback,
    isAdvanced: !EVERYDAY.has(name),
    area: AREAS[name.split('.')[0] ?? ''] ?? OWN_AREA,
  };
}

const VALUE_NAMES = { bytes: 'SIZE', count: 'N', ms: 'MS', us: 'US', port: 'PORT' } as const;
const CHOICES_WIDTH_MAX = 24;

function valueName(setting: Setting): string {
  switch (setting.kind) {
    case 'boolean':
      return '';
    case 'choice':
      return choicesName(setting.choices);
    case 'text':
      return setting.value ?? 'VALUE';
    case 'bytes':
    case 'count':
    case 'ms':
    case 'us':
    case 'port':
      return VALUE_NAMES[setting.kind];
  }
}

function choicesName(choices: readonly string[]): string {
  const all = choices.join('|');
  return all === '' ? 'VALUE' : all.length > CHOICES_WIDTH_MAX ? 'NAME' : all;
}

/** None where the name of the value says it already. */
function rangeText(setting: Setting): readonly string[] {
  if (setting.kind === 'boolean' || setting.kind === 'text') return [];
  const range = describeRange(setting);
  return range.replaceAll(', ', '|') === valueName(setting) ? [] : [range];
}

function fallbackText(setting: Setting): string {
  if (setting.canBeAuto === true) return 'auto';
  if (setting.kind === 'bytes' && setting.fallback > 0) return formatBytes(setting.fallback);
  return String(setting.fallback) || 'none';
}
