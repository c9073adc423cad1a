// What `tcpx experiment run` was asked for: the plan, the command that each run starts, interfaces,
// and arms that cannot or must not run here.

import { existsSync } from 'node:fs';
import { isByHand } from '../base/config.js';
import { type SkipFacts, skipReason } from '../experiment/arm-skip.js';
import { builtInPlan, PLAN_NAMES } from '../experiment/built-in-plans.js';
import {
  type Arm,
  type ExperimentPlan,
  nicsOfArm,
  PLAN_LIMITS,
  readPlan,
  requireOrder,
} from '../experiment/plan.js';
import type { LeftOut } from '../experiment/record.js';
import { openHost } from '../host/read/open-host.js';
import { readHost } from '../host/read/read-host.js';
import { dataNics } from '../host/topo/data-nics.js';
import { type Command, flagOf, type Invocation, type OwnFlag, usageError } from './command.js';
import { dataNicWish } from './data-nics.js';
import { readTextFile } from './environment-source.js';
import { isOwnProgram } from './own-program.js';

export const WISH_FLAGS: readonly OwnFlag[] = [
  {
    name: 'seconds',
    kind: 'text',
    value: 'S',
    summary: 'How long each run measures, where the command says {seconds}; as the plan says.',
  },
  { name: 'runs-min', kind: 'text', value: 'N', summary: 'Rounds at least; 3.' },
  {
    name: 'runs-max',
    kind: 'text',
    value: 'N',
    summary: 'Rounds at most; what is not proven by then is undecided; 12.',
  },
  {
    name: 'effect',
    kind: 'text',
    value: 'PERCENT',
    summary: 'The smallest gain that is worth finding; 10.',
  },
  {
    name: 'alpha',
    kind: 'text',
    value: 'PERCENT',
    summary: 'How often all comparisons together may find what is not there; 5.',
    isAdvanced: true,
  },
];

const LOOPBACK_NIC = 'lo';
const PASSED_ON = ['engine.provider', 'plugin.path'] as const;

export interface ExperimentWish {
  readonly plan: ExperimentPlan;
  readonly words: readonly string[];
  readonly nics: readonly string[];
}

export function experimentWish(command: Command, invocation: Invocation): ExperimentWish {
  const [name = PLAN_NAMES[0]] = invocation.positionals;
  const { rest } = invocation;
  const isFile = !PLAN_NAMES.some((one) => one === name) && existsSync(name);
  const file = isFile ? readPlan(readTextFile(name, `plan ${name}`), name) : undefined;
  const nics = nicsOf(invocation, file);
  const written = file ?? builtInPlan(name, nics);
  const plan = requireOrder(
    {
      ...written,
      seconds: numberFlag(command, invocation, 'seconds', written.seconds, PLAN_LIMITS.seconds),
      roundsMin: numberFlag(
        ...([command, invocation, 'runs-min', written.roundsMin, PLAN_LIMITS.roundsMin] as const),
      ),
      roundsMax: numberFlag(
        ...([command, invocation, 'runs-max', written.roundsMax, PLAN_LIMITS.roundsMax] as const),
      ),
      effect: fraction(command, invocation, 'effect', written.effect, PLAN_LIMITS.effectPercent),
      alpha: fraction(command, invocation, 'alpha', written.alpha, PLAN_LIMITS.alphaPercent),
    },
    name,
  );
  const words = rest.length > 0 ? rest : plan.command;
  if (words.length === 0) {
    throw usageError(command, `plan ${name} names no command: -- COMMAND is wanted`);
  }
  if (words[0] === 'tcpx' && words.includes('{seconds}') && !Number.isInteger(plan.seconds)) {
    throw usageError(command, `--seconds ${plan.seconds}: tcpx bench measures whole seconds`);
  }
  return { plan, nics, words: ownWords(invocation, words, rest.length === 0) };
}

/** Named ones; else those of the arms; else loopback for our own command, and the data NICs. */
function nicsOf(invocation: Invocation, file: ExperimentPlan | undefined): readonly string[] {
  const named = invocation.config.values['session.nics'];
  if (named !== '' && named !== 'auto') return named.split(',').map((nic) => nic.trim());
  const ofArms = nicsOfArms([], file?.arms ?? []);
  if (ofArms.length > 0) return ofArms;
  if (invocation.rest.length === 0 && isLoopback(file?.command)) return [LOOPBACK_NIC];
  const model = readHost(openHost());
  return dataNics(model, dataNicWish(invocation.config)).nics.map(({ name }) => name);
}

/** undefined: the command of a plan that comes with us, which is `tcpx bench loopback`. */
function isLoopback(words: readonly string[] | undefined): boolean {
  return words === undefined || (isOwnProgram(words) && words[2] === 'loopback');
}

/** Of the experiment and of its arms: what is placed. */
export function nicsOfArms(
  nics: readonly string[],
  arms: readonly Pick<Arm, 'nics'>[],
): readonly string[] {
  return [...new Set([...nics, ...arms.flatMap((arm) => arm.nics)])];
}

/** The provider and the plugin that were named are those of the plan's own command too. */
function ownWords(
  { config }: Invocation,
  words: readonly string[],
  isBuiltIn: boolean,
): readonly string[] {
  if (!isBuiltIn) return words;
  const named = PASSED_ON.filter((name) => isByHand(config, name));
  return [...words, ...named.flatMap((name) => [`--${flagOf(name)}`, config.values[name]])];
}

function numberFlag(
  command: Command,
  invocation: Invocation,
  flag: string,
  fallback: number,
  [least, most]: readonly [number, number],
): number {
  const text = invocation.text(flag);
  if (text === undefined) return fallback;
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw usageError(command, `--${flag} ${text}: a number from ${least} to ${most}`);
}

function fraction(
  command: Command,
  invocation: Invocation,
  flag: string,
  fallback: number,
  limits: readonly [number, number],
): number {
  return numberFlag(command, invocation, flag, 100 * fallback, limits) / 100;
}

export function skippedArms(
  { config }: Invocation,
  { plan, words, nics }: ExperimentWish,
  problemOf: (nics: readonly string[]) => string | undefined,
): readonly LeftOut[] {
  const budget = config.values['tcpx.socketBudget'];
  const facts: Omit<SkipFacts, 'placementProblem'> = {
    isPlugin: usesPlugin(words) || config.values['engine.provider'] === 'tcpx',
    socketsPerChannel: config.values['tcpx.sockets'],
    socketBudget: budget === 'off' ? undefined : Number(budget),
  };
  return plan.arms.flatMap((arm) => {
    const isPlaced = arm.interrupts === 'matched';
    const placementProblem = isPlaced ? problemOf(nicsOfArm(arm, nics)) : undefined;
    const reason = skipReason(arm, { ...facts, placementProblem });
    return reason === undefined ? [] : [{ arm: arm.name, reason }];
  });
}

function usesPlugin(words: readonly string[]): boolean {
  const provider = words.indexOf('--provider');
  if (provider >= 0) return words[provider + 1] === 'tcpx';
  return words.some((word) => word === 'nccl' || /(^|\/)mpirun$|_perf$/.test(word));
}
