// What `tcpx experiment run --resume` takes from its record, and what it must be told again: the
// secrets, which a record does not hold. Anything else would be another experiment.

import { hideSecrets, isHidden, safeWords } from '../diag/bundle/safe-variables.js';
import type { Arm } from '../experiment/plan.js';
import type { ExperimentRecord } from '../experiment/record.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { type Command, type Invocation, usageError } from './command.js';
import { WISH_FLAGS } from './experiment-wish.js';
import { PLAN_FLAGS } from './irq-host.js';

const RECORDED_FLAGS = ['out', 'seed', ...[...WISH_FLAGS, ...PLAN_FLAGS].map(({ name }) => name)];

/** The record with the secrets that stood in its command and in variables of its arms. */
export function wholeRecord(
  command: Command,
  invocation: Invocation,
  record: ExperimentRecord,
  environment: EnvironmentValues,
): ExperimentRecord {
  requireNothingElse(command, invocation);
  const words = wholeWords(command, invocation.rest, record.words);
  const arms = record.plan.arms.map((arm) => wholeArm(command, arm, environment));
  return { ...record, words, plan: { ...record.plan, arms } };
}

function requireNothingElse(command: Command, { config, positionals, ...flags }: Invocation): void {
  const given = RECORDED_FLAGS.filter((name) => flags.has(name) || flags.text(name) !== undefined);
  const nics = config.effective.find(({ name }) => name === 'session.nics');
  const all = [
    ...given.map((name) => `--${name}`),
    ...(nics?.origin.startsWith('flag ') === true ? ['--nics'] : []),
    ...positionals.map((name) => `plan ${name}`),
  ];
  if (all.length === 0) return;
  const text = `--resume takes all of this from its record: leave out ${all.join(', ')}`;
  throw usageError(command, text);
}

function wholeWords(
  command: Command,
  given: readonly string[],
  recorded: readonly string[],
): readonly string[] {
  if (given.length > 0) {
    const isSame = JSON.stringify(safeWords(given)) === JSON.stringify(recorded);
    if (isSame) return given;
    throw usageError(command, `--resume: its command is another: ${recorded.join(' ')}`);
  }
  if (!recorded.some(isHidden)) return recorded;
  throw usageError(
    command,
    '--resume: the record does not hold the secrets of its command; give it again behind --: ' +
      recorded.join(' '),
  );
}

function wholeArm(command: Command, arm: Arm, environment: EnvironmentValues): Arm {
  const pairs = Object.entries(arm.environment).map(([name, recorded]): [string, string] => {
    if (!isHidden(recorded)) return [name, recorded];
    const value = environment[name];
    if (value !== undefined && hideSecrets({ [name]: value })[name] === recorded) {
      return [name, value];
    }
    throw usageError(
      command,
      `--resume: the record does not hold ${name} of arm ${arm.name} (${recorded}): set that ` +
        'variable in this shell',
    );
  });
  return { ...arm, environment: Object.fromEntries(pairs) };
}
