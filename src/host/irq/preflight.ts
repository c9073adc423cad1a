// Before a run: do the binding variables say what the plan says, and may the process use the cores
// at all? taskset, numactl and cpusets narrow the allowed set, and children inherit it. Pure.

import { bindingCpus, parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import type { EnvironmentValues } from '../environment/preset.js';
import { type CpuSet, differenceOf, isSameSet, unionOf } from './cpu-choice.js';
import type { IrqPlan } from './plan.js';

export interface PreflightCheck {
  readonly name: string;
  readonly status: 'pass' | 'fail' | 'unknown';
  readonly text: string;
}

const VARIABLES = [
  ['NCCL_GPUDIRECTTCPX_TX_BINDINGS', 'txBindings'],
  ['NCCL_GPUDIRECTTCPX_RX_BINDINGS', 'rxBindings'],
] as const;

export function checkVariables(
  plan: IrqPlan,
  environment: EnvironmentValues,
): readonly PreflightCheck[] {
  return VARIABLES.filter(([, key]) => plan[key] !== '').map(([name, key]) => {
    const value = environment[name];
    const text = bindingProblem(plan[key], value);
    if (text === undefined) return { name, status: 'pass', text: 'as planned' };
    return { name, status: 'fail', text };
  });
}

function bindingProblem(planned: string, value: string | undefined): string | undefined {
  if (value === undefined) return `not set; the plan has ${planned}`;
  const { bindings, pitfalls } = parseBindings(value);
  const grave = pitfalls.filter(({ severity }) => severity !== 'note');
  if (grave.length > 0) return grave.map(({ nic, text }) => `${nic}: ${text}`).join('; ');
  const actual = new Map(bindings.map((binding) => [binding.nic, bindingCpus(binding)]));
  const wrong = parseBindings(planned).bindings.filter(
    (binding) => !isSameSet(bindingCpus(binding), actual.get(binding.nic) ?? []),
  );
  if (wrong.length === 0) return undefined;
  return wrong
    .map((binding) => {
      const cpus = actual.get(binding.nic);
      const now = cpus === undefined ? 'not named' : formatCpuList(cpus);
      return `${binding.nic} planned ${formatCpuList(bindingCpus(binding))}, is ${now}`;
    })
    .join('; ');
}

/** Fails when cores that the plan gives to threads are outside the inherited set. */
export function checkInherited(plan: IrqPlan, allowed: CpuSet | undefined): PreflightCheck {
  const name = 'inherited affinity';
  const planned = unionOf(...plan.allocations.flatMap(({ tx, rx }) => [tx, rx]));
  if (allowed === undefined) return { name, status: 'unknown', text: 'could not be read' };
  const excluded = differenceOf(planned, allowed);
  if (excluded.length === 0) {
    return { name, status: 'pass', text: `may use ${formatCpuList(allowed)}` };
  }
  return {
    name,
    status: 'fail',
    text:
      `${formatCpuList(excluded)} are planned but not allowed ` +
      `(allowed ${formatCpuList(allowed)}): taskset, numactl or a cpuset narrows this process`,
  };
}
