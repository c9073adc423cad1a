// Plans that come with the command: interrupts and variables (T1 to T5), NIC against NIC, and one
// or two NICs for a GPU. Pure.

import { TcpxError } from '../base/errors.js';
import { didYouMean } from '../base/suggestion.js';
import {
  type Arm,
  type ExperimentPlan,
  type InterruptChoice,
  PLAN_DEFAULTS,
  type VariableChoice,
} from './plan.js';

export const PLAN_NAMES = ['irq-binding', 'nic-ab', 'nics-per-gpu'] as const;
export type PlanName = (typeof PLAN_NAMES)[number];

/** What each run measures where no command is named: both ends here, payload checked. */
const BENCH = [
  ...['tcpx', 'bench', 'loopback', '--json', '--verify', 'sample', '--nics', '{nics}'],
];
const LOOPBACK = [...BENCH, '--seconds', '{seconds}'];
/**
 * The call trace of each end goes into a folder of the run's own. By iterations: what a run of a
 * given time does more than another is no divergence.
 */
const TRACED = [
  ...BENCH,
  ...['--iters', '50', '--warmup', '5', '--warmup-seconds', '0', '--trace-dir', '{traces}'],
];
const GPU_NICS = 2;

export function builtInPlan(name: string, nics: readonly string[]): ExperimentPlan {
  const known = PLAN_NAMES.find((one) => one === name);
  if (known !== undefined) return PLANS[known](nics);
  const hint = didYouMean(name, PLAN_NAMES);
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `plan ${name}: neither a file nor one of ${PLAN_NAMES.join(', ')}${hint}`,
  );
}

const PLANS: Readonly<Record<PlanName, (nics: readonly string[]) => ExperimentPlan>> = {
  'irq-binding': irqBinding,
  'nic-ab': nicAgainstNic,
  'nics-per-gpu': nicsPerGpu,
};

function irqBinding(): ExperimentPlan {
  return {
    ...PLAN_DEFAULTS,
    name: 'irq-binding',
    title: 'Interrupt affinity and binding variables',
    command: LOOPBACK,
    arms: [
      arm('T1', 'what it is without anything', 'default', 'none', 1),
      arm('T2', 'do the variables help', 'default', 'nccl', 1),
      arm('T3', 'does the affinity of interrupts help', 'matched', 'none', 1),
      arm('T4', 'do both', 'matched', 'nccl', 1),
      arm('T5', 'and with two channels', 'matched', 'nccl', 2),
    ],
    contrasts: [
      { what: 'the variables (T2)', weights: { T2: 1, T1: -1 } },
      { what: 'the interrupts (T3)', weights: { T3: 1, T1: -1 } },
      { what: 'the variables against the interrupts (T2, T3)', weights: { T2: 1, T3: -1 } },
      { what: 'both, beyond each alone', weights: { T4: 1, T2: -1, T3: -1, T1: 1 } },
      { what: 'a second channel (T5, T4)', weights: { T5: 1, T4: -1 } },
    ],
  };
}

function nicAgainstNic(nics: readonly string[]): ExperimentPlan {
  if (nics.length < 2) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'plan nic-ab: two NICs or more are wanted (--nics)');
  }
  const arms = nics.map((nic) => ({
    ...arm(nic, `the same run over ${nic}`, 'default', 'none', 1),
    nics: [nic],
  }));
  return {
    ...PLAN_DEFAULTS,
    name: 'nic-ab',
    title: 'The same run over each NIC',
    command: TRACED,
    arms,
    contrasts: [],
  };
}

function nicsPerGpu(nics: readonly string[]): ExperimentPlan {
  if (nics.length < GPU_NICS) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'plan nics-per-gpu: two NICs are wanted (--nics)');
  }
  const arms = (['none', 'nccl'] as const).flatMap((variables) =>
    [1, GPU_NICS].map((count) => ({
      ...arm(
        `${count}-nic${count === 1 ? '' : 's'}-${variables}`,
        `${count} NIC for a GPU, variables ${variables}`,
        'default',
        variables,
        count,
      ),
      nics: nics.slice(0, count),
    })),
  );
  return {
    ...PLAN_DEFAULTS,
    name: 'nics-per-gpu',
    title: 'One or two NICs for a GPU, with and without bindings',
    command: LOOPBACK,
    arms,
    contrasts: [
      { what: 'a second NIC', weights: { '2-nics-none': 1, '1-nic-none': -1 } },
      { what: 'the variables', weights: { '1-nic-nccl': 1, '1-nic-none': -1 } },
    ],
  };
}

function arm(
  name: string,
  question: string,
  interrupts: InterruptChoice,
  variables: VariableChoice,
  channels: number,
): Arm {
  return { name, question, interrupts, variables, channels, nics: [], environment: {} };
}
