// The plan whose variables a process gets: the one that is applied, where nothing asks for another.
// A plan made anew may differ from it, since counters go on: threads and interrupts would meet.

import type { EnvironmentValues } from '../host/environment/preset.js';
import { currentPlanPath } from '../host/irq/journal.js';
import { type IrqPlan, planOfNic } from '../host/irq/plan.js';
import { loadPlan, rebasePlan } from '../host/irq/saved-plan.js';
import type { Invocation } from './command.js';
import { gpuNic, type IrqHost, PLAN_FLAGS, planFor, plannedNics } from './irq-host.js';

export function processPlan(invocation: Invocation, host: IrqHost): IrqPlan {
  return appliedPlan(invocation, host) ?? planFor(invocation, host.model);
}

/** undefined where none is applied, another is asked for, or it lacks a NIC that is wanted. */
function appliedPlan(invocation: Invocation, host: IrqHost): IrqPlan | undefined {
  const isAsked = PLAN_FLAGS.some(({ name, kind }) => {
    return name !== 'gpu' && kind === 'text' && invocation.text(name) !== undefined;
  });
  const path = isAsked ? undefined : currentPlanPath(host.stateFolder, host.bootId);
  if (path === undefined) return undefined;
  const { model } = host;
  const { plan } = rebasePlan(loadPlan(path), model.nics, model.hostname);
  const choice = 'it is applied';
  const gpu = gpuNic(invocation, model);
  const wanted =
    gpu === undefined ? plannedNics(invocation, model).map(({ name }) => name) : [gpu.nic];
  if (!wanted.every((name) => plan.allocations.some(({ nic }) => nic === name))) return undefined;
  if (gpu === undefined) return { ...plan, choice };
  return { ...planOfNic(plan, gpu.nic), choice, notes: [gpu.text, ...plan.notes] };
}

/** The core ranges of a plan, as the plugin and our own lanes read them. */
export function bindingVariables({ txBindings, rxBindings }: IrqPlan): EnvironmentValues {
  return {
    ...(txBindings === '' ? {} : { NCCL_GPUDIRECTTCPX_TX_BINDINGS: txBindings }),
    ...(rxBindings === '' ? {} : { NCCL_GPUDIRECTTCPX_RX_BINDINGS: rxBindings }),
  };
}
