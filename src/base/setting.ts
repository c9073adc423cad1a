// What a setting is: its kind, range, names, and what it costs to change it.

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
  return setting.canBeAuto === true ? `${rangeOf(setting)}, auto` : rangeOf(setting);
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
    case 'count':
    case 'ms':
    case 'us':
    case 'port':
      return `${setting.minimum} … ${setting.maximum}`;
  }
}
