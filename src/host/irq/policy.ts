// The policies of `tcpx irq plan` and `tcpx env`: one entry each, data and function together.
// A policy first gives cores to NICs (allocate), then a CPU set to each queue interrupt (place).

import { parseBindings } from '../../base/core-bindings.js';
import { formatCpuList } from '../../base/cpu-set.js';
import { TcpxError } from '../../base/errors.js';
import type { NicVector } from '../read/model.js';
import {
  type Allocation,
  type AllocationRequest,
  allocateGiven,
  allocateManual,
  allocateSlices,
  allocateSplit,
  type NicAllocation,
} from './allocation.js';
import { cutEvenly, physicalCores } from './core-map.js';
import { type CpuSet, cpuSet, requireCpuList } from './cpu-choice.js';
import type { ObservedLoad } from './load-placement.js';

const POLICY_NAMES = ['nccl', 'numa-local', 'physical', 'split', 'channels', 'manual'] as const;
export type PolicyName = (typeof POLICY_NAMES)[number];

export interface PolicyRequest extends AllocationRequest {
  readonly manualCores: CpuSet;
  readonly channels: number;
  /** false leaves the choice of send queues (XPS) as it is. */
  readonly hasXps?: boolean;
  /** Interrupts of a run: every policy then gives each line one CPU, by load. */
  readonly observed?: ObservedLoad;
  /** What lines did since boot: measures a plan that is made without a run, and places nothing. */
  readonly counted?: ObservedLoad;
}

export interface Placement {
  readonly cpus: CpuSet;
  readonly reason: string;
}

export interface Policy {
  readonly name: PolicyName;
  readonly summary: string;
  /** Whether it uses ranges that are given for the threads. */
  readonly takesRanges: boolean;
  allocate(request: PolicyRequest): Allocation;
  /** CPUs that the vector may use at all: placement by load chooses among them. */
  candidates(vector: NicVector, allocation: NicAllocation, request: PolicyRequest): CpuSet;
  place(vector: NicVector, allocation: NicAllocation, request: PolicyRequest): Placement;
}

/** Core sets of Google's reference run on A3-high: two NICs of a node share each set. */
export const A3_HIGH_TX_BINDINGS =
  'eth1:8-21,112-125;eth2:8-21,112-125;eth3:60-73,164-177;eth4:60-73,164-177';
export const A3_HIGH_RX_BINDINGS =
  'eth1:22-35,126-139;eth2:22-35,126-139;eth3:74-87,178-191;eth4:74-87,178-191';
const A3_HIGH_APPLICATION = '0-7,52-59,104-111,156-163';

export const POLICIES: Readonly<Record<PolicyName, Policy>> = {
  nccl: {
    name: 'nccl',
    takesRanges: true,
    summary:
      'The NCCL reference ranges: a TX vector may use the send threads’ range, an RX vector the ' +
      'receive threads’ range. Interrupts and threads share cores.',
    allocate: (request) => allocateGiven(withReferenceRanges(request)),
    candidates: rangeOf,
    place: placeInRange,
  },
  'numa-local': {
    name: 'numa-local',
    takesRanges: false,
    summary:
      'One CPU of the NIC’s own node per queue; NICs of one node get different cores, CPU 0 and ' +
      'application cores are left out, hyperthreads are used once cores run out.',
    allocate: (request) => allocateSlices(request, true),
    candidates: (_vector, allocation, request) => coresFirst(allocation.irq, request),
    place: placeOnePerQueue,
  },
  physical: {
    name: 'physical',
    takesRanges: false,
    summary: 'As numa-local, but one hardware thread per physical core only.',
    allocate: (request) => allocateSlices(request, false),
    candidates: (_vector, allocation, request) => coresFirst(allocation.irq, request),
    place: placeOnePerQueue,
  },
  split: {
    name: 'split',
    takesRanges: false,
    summary:
      'Send threads, receive threads and interrupts on three disjoint sets of physical cores of ' +
      'the NIC’s node; interrupt cores are not shared between NICs.',
    allocate: allocateSplit,
    candidates: (_vector, allocation, request) => coresFirst(allocation.irq, request),
    place: placeOnePerQueue,
  },
  channels: {
    name: 'channels',
    takesRanges: true,
    summary:
      'As split (or as the ranges given), each set cut into one part per channel; queue q ' +
      'belongs to channel q mod channels.',
    allocate: (request) =>
      request.txBindings.length > 0 ? allocateGiven(request) : allocateSplit(request),
    candidates: (vector, allocation, request) =>
      coresFirst(channelPart(vector, allocation, request), request),
    place: placePerChannel,
  },
  manual: {
    name: 'manual',
    takesRanges: true,
    summary: 'The cores named with --cores for every queue vector of the NIC named with --nic.',
    allocate: (request) => allocateManual(request, request.manualCores),
    candidates: (_vector, allocation) => allocation.irq,
    place: (vector, allocation) => ({
      cpus: allocation.irq,
      reason: `${describeVector(vector)}: cores chosen by hand`,
    }),
  },
};

export function parsePolicyName(text: string): PolicyName {
  const name = POLICY_NAMES.find((candidate) => candidate === text);
  if (name !== undefined) return name;
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `policy ${JSON.stringify(text)} is not one of ${POLICY_NAMES.join(', ')}`,
  );
}

/** Given ranges win; otherwise those of A3-high, if this host has such NICs and cores. */
function withReferenceRanges(request: PolicyRequest): PolicyRequest {
  if (request.txBindings.length > 0 || request.rxBindings.length > 0) return onlyNamed(request);
  const filled: PolicyRequest = {
    ...request,
    txBindings: parseBindings(A3_HIGH_TX_BINDINGS).bindings,
    rxBindings: parseBindings(A3_HIGH_RX_BINDINGS).bindings,
    application: request.application ?? requireCpuList(A3_HIGH_APPLICATION),
  };
  const known = new Set(filled.txBindings.map((binding) => binding.nic));
  const isA3High =
    request.cores.online.length === 208 && request.nics.some((n) => known.has(n.name));
  if (isA3High) return { ...filled, nics: request.nics.filter((nic) => known.has(nic.name)) };
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    'policy nccl: its own ranges are for A3-high (208 CPUs, eth1 to eth4); this host has ' +
      `${request.cores.online.length} CPUs. Give --tx-bindings and --rx-bindings, or use split`,
  );
}

function onlyNamed(request: PolicyRequest): PolicyRequest {
  const named = new Set([...request.txBindings, ...request.rxBindings].map(({ nic }) => nic));
  const nics = request.nics.filter((nic) => named.has(nic.name));
  if (nics.length > 0) return { ...request, nics };
  throw new TcpxError(
    'ERR_USAGE_ARGUMENT',
    `the bindings name ${[...named].join(', ')}; none of the chosen NICs is among them`,
  );
}

export function describeVector(vector: NicVector): string {
  if (vector.role === 'rx') return `RX queue ${vector.queue ?? '?'}`;
  if (vector.role === 'tx') return `TX queue ${vector.queue ?? '?'}`;
  if (vector.role === 'rxtx') return `queue pair ${vector.queue ?? '?'}`;
  return `vector ${vector.index}`;
}

function rangeOf(vector: NicVector, allocation: NicAllocation): CpuSet {
  if (vector.role === 'tx') return allocation.tx;
  return vector.role === 'rx' ? allocation.rx : allocation.irq;
}

function placeInRange(
  vector: NicVector,
  allocation: NicAllocation,
  request: PolicyRequest,
): Placement {
  const cpus = rangeOf(vector, allocation);
  const { role } = vector;
  const what = role === 'tx' ? 'send' : role === 'rx' ? 'receive' : 'send and receive';
  const count = physicalCores(cpus, request.cores).length;
  const reason =
    `${describeVector(vector)}: the ${what} threads’ range of ${allocation.nic}, ` +
    `${count} physical cores`;
  return { cpus, reason };
}

function placeOnePerQueue(
  vector: NicVector,
  allocation: NicAllocation,
  request: PolicyRequest,
): Placement {
  const order = coresFirst(allocation.irq, request);
  const queues = queueCountOf(allocation.nic, request);
  // With cores enough, RX and TX of a queue part; else they share, as their work is one flow's.
  const isApart = vector.role === 'rx' && order.length >= 2 * queues;
  const position = (vector.queue ?? vector.index) + (isApart ? queues : 0);
  const cpu = order[position % order.length];
  if (cpu === undefined) return { cpus: [], reason: 'no core is left for interrupts' };
  const reason =
    `${describeVector(vector)}: ${placeName(cpu, request)}, position ${position % order.length} ` +
    `of ${order.length} interrupt CPUs of ${allocation.nic}`;
  return { cpus: [cpu], reason };
}

/** The part of the allowed cores that the channel of the vector's queue has. */
function channelPart(vector: NicVector, allocation: NicAllocation, request: PolicyRequest): CpuSet {
  const queue = vector.queue ?? vector.index;
  const isShared = request.txBindings.length > 0;
  const wholeRange = vector.role === 'tx' ? allocation.tx : allocation.rx;
  const whole = isShared ? wholeRange : allocation.irq;
  return channelCpus(whole, request)[queue % request.channels] ?? [];
}

function placePerChannel(
  vector: NicVector,
  allocation: NicAllocation,
  request: PolicyRequest,
): Placement {
  const queue = vector.queue ?? vector.index;
  const part = channelPart(vector, allocation, request);
  const order = coresFirst(part, request);
  const cpu = order[Math.floor(queue / request.channels) % Math.max(1, order.length)];
  return {
    cpus: cpu === undefined ? [] : [cpu],
    reason:
      `${describeVector(vector)}: channel ${queue % request.channels} of ${request.channels}, ` +
      `whose cores are ${formatCpuList(part)}`,
  };
}

/** A set cut into one part per channel: whole physical cores, with the hyperthreads it had. */
export function channelCpus(cpus: CpuSet, request: PolicyRequest): readonly CpuSet[] {
  const cores = physicalCores(cpus, request.cores);
  return cutEvenly(cores, request.channels).map((part) =>
    cpus.filter((cpu) => part.includes(request.cores.siblingsOf(cpu)[0] ?? cpu)),
  );
}

// Hyperthreads come after all cores, so that few queues never meet on one core.
function coresFirst(cpus: CpuSet, request: PolicyRequest): readonly number[] {
  const seen = new Set<number>();
  const first: number[] = [];
  const later: number[] = [];
  for (const cpu of cpuSet(cpus)) {
    const core = request.cores.siblingsOf(cpu)[0] ?? cpu;
    (seen.has(core) ? later : first).push(cpu);
    seen.add(core);
  }
  return [...first, ...later];
}

function queueCountOf(nic: string, request: PolicyRequest): number {
  const vectors = request.nics.find((candidate) => candidate.name === nic)?.vectors ?? [];
  return Math.max(1, ...vectors.map((vector) => (vector.queue ?? 0) + 1));
}

export function placeName(cpu: number, request: PolicyRequest): string {
  const node = request.cores.nodeOf(cpu);
  return node === undefined ? `CPU ${cpu}` : `CPU ${cpu} of node ${node}`;
}
