// A plan: arms that are compared, the command that each runs, and when it is enough. Pure.

import { TcpxError } from '../base/errors.js';
import { parseToml } from '../base/toml.js';
import type { Contrast } from './decision.js';
import type { RepetitionWish } from './repetitions.js';
import { ROUNDS_MIN } from './round-fit.js';

/** `default`: interrupts as they are found; `matched`: bound to the cores of a plan. */
export type InterruptChoice = 'default' | 'matched';
/** `none`: binding variables are unset; `nccl`: set to the plan's cores. */
export type VariableChoice = 'none' | 'nccl';

export interface Arm {
  readonly name: string;
  readonly question: string;
  readonly interrupts: InterruptChoice;
  readonly variables: VariableChoice;
  /** undefined: as the command has it. */
  readonly channels: number | undefined;
  /** Interfaces that it uses; none: those of the experiment. */
  readonly nics: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface ExperimentPlan extends RepetitionWish {
  readonly name: string;
  readonly title: string;
  /** Words; {nics}, {channels}, {seconds} and {traces} are replaced. Empty: named when it runs. */
  readonly command: readonly string[];
  /** Of the part of each run that is measured. */
  readonly seconds: number;
  /** The first is what others are compared with. */
  readonly arms: readonly Arm[];
  readonly contrasts: readonly Contrast[];
}

export const PLAN_DEFAULTS = {
  roundsMin: ROUNDS_MIN,
  roundsMax: 12,
  effect: 0.1,
  alpha: 0.05,
  seconds: 10,
} as const;

export const PLAN_LIMITS = {
  roundsMin: [ROUNDS_MIN, 1000],
  roundsMax: [ROUNDS_MIN, 1000],
  effectPercent: [0.1, 1000],
  alphaPercent: [0.1, 50],
  seconds: [0.1, 86_400],
  channels: [1, 64],
} as const;

const ARMS_MAX = 64;
const NAME = /^[A-Za-z0-9][\w.-]{0,31}$/;
const VARIABLE = /^[A-Za-z_]\w*$/;

/** TOML, or JSON where the text begins with a brace. */
export function readPlan(text: string, file: string): ExperimentPlan {
  const fields = new Fields(parseText(text, file), file);
  const arms = fields.list('arm').map((one, index) => readArm(one, `${file}, arm ${index + 1}`));
  const names = new Set(arms.map(({ name }) => name));
  if (arms.length < 2 || arms.length > ARMS_MAX || names.size !== arms.length) {
    throw wrong(file, `2 to ${ARMS_MAX} arms ([[arm]]) with names of their own are wanted`);
  }
  const plan = {
    name: fields.name('name'),
    title: fields.text('title', ''),
    command: fields.words('command'),
    seconds: fields.number('seconds', PLAN_DEFAULTS.seconds, PLAN_LIMITS.seconds),
    roundsMin: fields.number('runs-min', PLAN_DEFAULTS.roundsMin, PLAN_LIMITS.roundsMin),
    roundsMax: fields.number('runs-max', PLAN_DEFAULTS.roundsMax, PLAN_LIMITS.roundsMax),
    effect: fields.number('effect', 100 * PLAN_DEFAULTS.effect, PLAN_LIMITS.effectPercent) / 100,
    alpha: fields.number('alpha', 100 * PLAN_DEFAULTS.alpha, PLAN_LIMITS.alphaPercent) / 100,
    arms,
    contrasts: [],
  };
  fields.finish();
  return requireOrder(plan, file);
}

/** Whatever changed it: whole numbers of rounds, the least not above the most. */
export function requireOrder(plan: ExperimentPlan, file: string): ExperimentPlan {
  const { roundsMin, roundsMax } = plan;
  if (Number.isInteger(roundsMin) && Number.isInteger(roundsMax) && roundsMin <= roundsMax) {
    return plan;
  }
  throw wrong(
    file,
    `runs-min ${roundsMin} and runs-max ${roundsMax} are no range of whole numbers`,
  );
}

function parseText(text: string, file: string): Readonly<Record<string, unknown>> {
  if (!text.trimStart().startsWith('{')) return parseToml(text, file);
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>; // checked: field by field
  } catch (error) {
    throw wrong(file, error instanceof Error ? error.message : String(error));
  }
}

function readArm(value: unknown, place: string): Arm {
  const fields = new Fields(value, place);
  const channels = fields.number('channels', 0, [0, PLAN_LIMITS.channels[1]]);
  const arm: Arm = {
    name: fields.name('name'),
    question: fields.text('question', ''),
    interrupts: fields.choice('interrupts', ['default', 'matched']),
    variables: fields.choice('variables', ['none', 'nccl']),
    channels: channels === 0 ? undefined : channels,
    nics: fields.words('nics'),
    environment: fields.variables('environment'),
  };
  fields.finish();
  return arm;
}

function wrong(place: string, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `plan ${place}: ${reason}`);
}

/** Takes a table apart; what nobody asked for is a mistake of its writer. */
class Fields {
  private readonly left: Map<string, unknown>;
  private readonly place: string;

  constructor(value: unknown, place: string) {
    const isTable = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (!isTable) throw wrong(place, 'a table is wanted');
    this.left = new Map(Object.entries(value));
    this.place = place;
  }

  finish(): void {
    const [unknown] = this.left.keys();
    if (unknown !== undefined) throw wrong(this.place, `${unknown} is not known`);
  }

  private take(key: string): unknown {
    const value = this.left.get(key);
    this.left.delete(key);
    return value;
  }

  text(key: string, fallback: string): string {
    const value = this.take(key) ?? fallback;
    if (typeof value === 'string') return value;
    throw wrong(this.place, `${key} is a string`);
  }

  name(key: string): string {
    const value = this.text(key, '');
    if (NAME.test(value)) return value;
    throw wrong(this.place, `${key}: up to 32 letters, digits, dots, dashes are wanted`);
  }

  choice<T extends string>(key: string, choices: readonly [T, ...T[]]): T {
    const value = this.text(key, choices[0]);
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    throw wrong(this.place, `${key} is ${value}; one of ${choices.join(', ')} is wanted`);
  }

  number(key: string, fallback: number, [least, most]: readonly [number, number]): number {
    const value = this.take(key) ?? fallback;
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw wrong(this.place, `${key} is a number from ${least} to ${most}`);
  }

  list(key: string): readonly unknown[] {
    const value = this.take(key) ?? [];
    if (Array.isArray(value)) return value as readonly unknown[];
    throw wrong(this.place, `${key} is a list`);
  }

  words(key: string): readonly string[] {
    const words = this.list(key);
    if (words.every((word): word is string => typeof word === 'string' && word !== '')) {
      return words;
    }
    throw wrong(this.place, `${key} is a list of strings`);
  }

  variables(key: string): Readonly<Record<string, string>> {
    const fields = this.take(key) ?? {};
    const isTable = typeof fields === 'object' && !Array.isArray(fields);
    const pairs: [string, unknown][] = isTable ? Object.entries(fields) : [['', '']];
    const isGood = pairs.every(([name, value]) => VARIABLE.test(name) && typeof value === 'string');
    if (isGood) return Object.fromEntries(pairs) as Record<string, string>;
    throw wrong(this.place, `${key} is a table of variables, each a string`);
  }
}

/** Its own, else those of the experiment. */
export function nicsOfArm(arm: Pick<Arm, 'nics'>, nics: readonly string[]): readonly string[] {
  return arm.nics.length === 0 ? nics : arm.nics;
}

/** Words of an arm's command. */
export function commandOf(
  words: readonly string[],
  values: Readonly<Record<string, string>>,
): readonly string[] {
  return words.map((word) =>
    word.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole),
  );
}
