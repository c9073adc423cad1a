// What the irq commands share: flags, the host below --root, and the request that a policy gets.

import { join } from 'node:path';
import { readBootId } from '../base/boot-id.js';
import { type NicBinding, parseBindings } from '../base/core-bindings.js';
import { TcpxError } from '../base/errors.js';
import type { EnvironmentValues } from '../host/environment/preset.js';
import { matchBundle } from '../host/irq/bundle-match.js';
import { coreMapOf } from '../host/irq/core-map.js';
import { requireCpuList } from '../host/irq/cpu-choice.js';
import type { ObservedLoad } from '../host/irq/load-placement.js';
import { type Observation, readBundle } from '../host/irq/observation.js';
import { buildPlan, type IrqPlan, planOfNic } from '../host/irq/plan.js';
import {
  POLICIES,
  type PolicyName,
  type PolicyRequest,
  parsePolicyName,
} from '../host/irq/policy.js';
import { defaultPlan } from '../host/irq/policy-choice.js';
import { loadPlan, rebasePlan } from '../host/irq/saved-plan.js';
import { loadSinceBoot } from '../host/irq/since-boot.js';
import type { HostModel, Nic } from '../host/read/model.js';
import { openHost } from '../host/read/open-host.js';
import { readHost } from '../host/read/read-host.js';
import { gpuOfOrdinal } from '../host/topo/cuda-ordinal.js';
import { requireDataNics } from '../host/topo/data-nics.js';
import { chooseNics as chooseGpuNics } from '../host/topo/gpu-nic-choice.js';
import { namedNics } from '../host/topo/named-nic.js';
import type { Invocation, OwnFlag } from './command.js';
import { dataNicWish } from './data-nics.js';
import { environmentOfHost, ownEnvironment } from './environment-source.js';

export const ROOT_FLAG: OwnFlag = {
  name: 'root',
  kind: 'text',
  value: 'PATH',
  summary: 'Instead of this machine: a folder with its files, a capture file, or a bundle.',
};

export const STATE_FLAG: OwnFlag = {
  name: 'state',
  kind: 'text',
  value: 'DIR',
  summary: 'Folder of journals, logs and the baseline; default /var/lib/nixl-tcpx below the root.',
  isAdvanced: true,
};

export const BINDING_FLAGS: readonly OwnFlag[] = [
  {
    name: 'tx-bindings',
    kind: 'text',
    value: 'NIC:CPUS;...',
    summary: 'Send threads’ cores: eth1:8-21;eth2:…',
    isAdvanced: true,
  },
  {
    name: 'rx-bindings',
    kind: 'text',
    value: 'NIC:CPUS;...',
    summary: 'Receive threads’ cores, same form.',
    isAdvanced: true,
  },
];

export const PLAN_FLAGS: readonly OwnFlag[] = [
  {
    name: 'policy',
    kind: 'text',
    value: 'NAME',
    summary:
      'nccl, numa-local, physical, split, channels; manual with --nic, --cores. Default: split, ' +
      'or what loads the busiest CPU no more than now.',
  },
  {
    name: 'plan',
    kind: 'text',
    value: 'FILE',
    summary: 'Take a saved plan instead of making one.',
  },
  {
    name: 'gpu',
    kind: 'text',
    value: 'N',
    summary: 'Only the NIC of this GPU: its CUDA ordinal, as CUDA_VISIBLE_DEVICES leaves it.',
  },
  { name: 'nic', kind: 'text', value: 'NIC', summary: 'One NIC to bind by hand, with --cores.' },
  {
    name: 'cores',
    kind: 'text',
    value: 'CPUS',
    summary: 'CPUs for that NIC’s interrupts: 8-21,112-125.',
  },
  ...BINDING_FLAGS,
  {
    name: 'no-xps',
    kind: 'boolean',
    summary: 'Leave the choice of send queues (XPS) as it is.',
    isAdvanced: true,
  },
  {
    name: 'app-cores',
    kind: 'text',
    value: 'CPUS',
    summary: 'CPUs that the application keeps for itself.',
    isAdvanced: true,
  },
  {
    name: 'widen',
    kind: 'text',
    value: 'N',
    summary: 'Add this many physical cores to every set.',
    isAdvanced: true,
  },
  {
    name: 'narrow',
    kind: 'text',
    value: 'N',
    summary: 'Take this many physical cores from every set.',
    isAdvanced: true,
  },
  {
    name: 'from',
    kind: 'text',
    value: 'DIR',
    summary: 'Diagnostics bundle: place by the interrupts of its run.',
    isAdvanced: true,
  },
];

const STATE_DEFAULT = '/var/lib/nixl-tcpx';

export interface IrqHost {
  readonly root: string;
  readonly stateFolder: string;
  readonly bootId: string | undefined;
  readonly model: HostModel;
  /** Of the run that a bundle was taken around, else of this shell. */
  readonly environment: EnvironmentValues;
}

export function openIrqHost(invocation: Invocation): IrqHost {
  const root = rootOf(invocation);
  const source = openHost(root);
  const bootId = readBootId(source.files);
  return {
    root,
    stateFolder: stateFolderOf(invocation),
    bootId,
    model: readHost(source),
    environment: environmentOfHost(source.files),
  };
}

export function rootOf(invocation: Invocation): string {
  return invocation.text('root') ?? '/';
}

export function stateFolderOf(invocation: Invocation): string {
  return invocation.text('state') ?? join(rootOf(invocation), STATE_DEFAULT);
}

/** For display: NICs that are named, else all that have queue vectors, control NICs too. */
export function shownNics(invocation: Invocation, model: HostModel): readonly Nic[] {
  const wish = dataNicWish(invocation.config);
  if (wish.named === '' && wish.listed === '') {
    return model.nics.filter((nic) => nic.vectors.length > 0);
  }
  return requireDataNics(model, wish);
}

/** The NIC named with --nic, else the data NICs; those without queue vectors have no plan. */
export function plannedNics(invocation: Invocation, model: HostModel): readonly Nic[] {
  const byHand = invocation.text('nic');
  if (byHand !== undefined) return namedNics(model, byHand);
  const wish = dataNicWish(invocation.config);
  const nics = requireDataNics(model, wish);
  return wish.named === '' ? nics.filter((nic) => nic.vectors.length > 0) : nics;
}

function bindingsFlag(
  invocation: Invocation,
  flag: string,
  model: HostModel,
): readonly NicBinding[] {
  const text = invocation.text(flag);
  if (text === undefined) return [];
  const { possibleCount } = coreMapOf(model);
  const nics = model.nics.map(({ name }) => name);
  const { bindings, pitfalls } = parseBindings(text, { nics, possibleCount });
  const fault = pitfalls.find(({ severity }) => severity !== 'note');
  if (fault === undefined) return bindings;
  throw new TcpxError('ERR_USAGE_ARGUMENT', `--${flag}: ${fault.nic}: ${fault.text}`);
}

/** Ranges for display: flags, else the variables of the environment. */
export function shownBindings(
  invocation: Invocation,
  flag: 'tx' | 'rx',
  { model, environment }: Pick<IrqHost, 'model' | 'environment'>,
): readonly NicBinding[] {
  const given = bindingsFlag(invocation, `${flag}-bindings`, model);
  if (given.length > 0) return given;
  const name = `NCCL_GPUDIRECTTCPX_${flag.toUpperCase()}_BINDINGS`;
  return parseBindings(environment[name] ?? '').bindings;
}

/** The bundle named with --from; one of another machine, or in the wrong order, is refused. */
export function observationOf(invocation: Invocation, model: HostModel): Observation | undefined {
  const folder = invocation.text('from');
  if (folder === undefined) return undefined;
  const observation = readBundle(folder);
  const { contradictions } = matchBundle(observation, model);
  if (contradictions.length > 0) {
    throw fromError(folder, `not of this host: ${contradictions.join('; ')}`);
  }
  if (observation.isReversed) {
    throw fromError(folder, 'its counters fall from before to after: wrong order, or a reboot');
  }
  return observation;
}

function fromError(folder: string, reason: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `--from ${folder}: ${reason}`);
}

export function planFor(invocation: Invocation, model: HostModel): IrqPlan {
  const saved = invocation.text('plan');
  if (saved !== undefined) {
    const { xps, ...plan } = rebasePlan(loadPlan(saved), model.nics, model.hostname).plan;
    return xps === undefined || invocation.has('no-xps') ? plan : { ...plan, xps };
  }
  const isManual = invocation.text('cores') !== undefined;
  if (isManual && invocation.text('nic') === undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', '--cores needs --nic');
  }
  const policy = namedPolicy(invocation, isManual);
  if (policy === 'manual' && !isManual) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', 'policy manual needs --nic NAME and --cores LIST');
  }
  if (model.cpus.online.length === 0) {
    throw new TcpxError('ERR_CAP_HOST', 'the CPUs of this host could not be read: no plan');
  }
  const choice = gpuNic(invocation, model);
  const request = requestFor(invocation, model);
  if (choice === undefined) return planBy(policy, request, model);
  // Cores are shared out among the NICs of all GPUs: processes of other GPUs do the same.
  const serving = new Set(
    chooseGpuNics(model, dataNicNames(invocation, model)).map(({ nic }) => nic),
  );
  const nics = model.nics.filter((nic) => serving.has(nic.name));
  const whole = planBy(policy, { ...request, nics }, model);
  const plan = planOfNic(whole, choice.nic);
  return { ...plan, notes: [choice.text, ...plan.notes] };
}

/** Cores named by hand, and ranges that were given, are policies of their own. */
function namedPolicy(invocation: Invocation, isManual: boolean): PolicyName | undefined {
  const ranges = BINDING_FLAGS.find(({ name }) => invocation.text(name) !== undefined);
  const text = invocation.text('policy');
  if (text === undefined) return isManual ? 'manual' : ranges === undefined ? undefined : 'nccl';
  const policy = parsePolicyName(text);
  if (ranges === undefined || POLICIES[policy].takesRanges) return policy;
  const takers = Object.values(POLICIES).filter(({ takesRanges }) => takesRanges);
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `--${ranges.name}: policy ${policy} chooses the threads’ cores itself; ranges are for ` +
      takers.map(({ name }) => name).join(', '),
  );
}

function planBy(name: PolicyName | undefined, request: PolicyRequest, model: HostModel): IrqPlan {
  return name === undefined ? defaultPlan(request, model) : buildPlan(name, request, model);
}

function dataNicNames(invocation: Invocation, model: HostModel): readonly string[] {
  return requireDataNics(model, dataNicWish(invocation.config)).map(({ name }) => name);
}

/** The NIC of the GPU named with --gpu, by its CUDA ordinal in this environment. */
export function gpuNic(invocation: Invocation, model: HostModel) {
  if (invocation.text('gpu') === undefined) return undefined;
  if (invocation.text('nic') !== undefined) {
    throw new TcpxError('ERR_USAGE_ARGUMENT', '--gpu chooses the NIC: leave --nic out');
  }
  const ordinal = countFlag(invocation, 'gpu', 0);
  const gpu = gpuOfOrdinal(model, ordinal, ownEnvironment());
  const choice = chooseGpuNics(model, dataNicNames(invocation, model)).find(
    (c) => c.gpu === gpu.index,
  );
  const place = `GPU ${ordinal} (CUDA ordinal) is ${gpu.pciAddress}`;
  if (choice?.nic === undefined) {
    throw new TcpxError('ERR_CAP_NET_DEVICE', `${place}: ${choice?.reason ?? 'no NIC for it'}`);
  }
  return { nic: choice.nic, text: `${place}; its NIC is ${choice.nic}: ${choice.reason}` };
}

function requestFor(invocation: Invocation, model: HostModel): PolicyRequest {
  const cores = coreMapOf(model);
  const list = (flag: string) => {
    const text = invocation.text(flag);
    return text === undefined ? undefined : requireCpuList(text, cores);
  };
  const observation = observationOf(invocation, model);
  return {
    nics: plannedNics(invocation, model),
    cores,
    application: list('app-cores'),
    manualCores: list('cores') ?? [],
    txBindings: bindingsFlag(invocation, 'tx-bindings', model),
    rxBindings: bindingsFlag(invocation, 'rx-bindings', model),
    adjustCores: countFlag(invocation, 'widen', 0) - countFlag(invocation, 'narrow', 0),
    channels: invocation.config.values['flow.channels'],
    hasXps: !invocation.has('no-xps'),
    ...(observation === undefined ? sinceBoot(model) : { observed: observedLoad(observation) }),
  };
}

function sinceBoot({ irqs }: HostModel): Pick<PolicyRequest, 'counted'> {
  const counted = loadSinceBoot(irqs);
  return counted === undefined ? {} : { counted };
}

function observedLoad(observation: Observation): ObservedLoad {
  const { folder, interrupts, seconds, missing } = observation;
  if (interrupts.size === 0) throw fromError(folder, `lacks ${missing.join(', ')}`);
  return { source: folder, interrupts, seconds };
}

export function countFlag(
  invocation: Invocation,
  flag: string,
  fallback: number,
  countMin = 0,
): number {
  const text = invocation.text(flag);
  if (text === undefined) return fallback;
  if (/^\d+$/.test(text) && Number(text) >= countMin) return Number(text);
  throw numberError(flag, text, `a whole number from ${countMin} on`);
}

export function secondsFlag(invocation: Invocation, flag: string, fallback: number): number {
  const text = invocation.text(flag);
  if (text === undefined) return fallback;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw numberError(flag, text, 'a number of seconds');
}

function numberError(flag: string, text: string, wanted: string): TcpxError {
  return new TcpxError('ERR_USAGE_ARGUMENT', `--${flag}: ${JSON.stringify(text)} is not ${wanted}`);
}
