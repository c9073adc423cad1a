// What the workers of this process run with: their GPUs and NICs, settings, and the variables of a
// policy, with interrupts bound where that is asked for.

import { type Config, isByHand, processEnvironment } from '../base/config.js';
import type { GpuPlace } from '../bench/mesh/gpu-map.js';
import { visibleGpus } from '../host/topo/cuda-ordinal.js';
import { type Command, type Invocation, usageError } from './command.js';
import { dataNicWish } from './data-nics.js';
import { ownEnvironment } from './environment-source.js';
import { type IrqHost, planFor } from './irq-host.js';
import { bindForRun, unbindAfterRun } from './irq-transaction.js';
import type { MeshPlace } from './mesh-place.js';
import { printNote } from './print.js';
import { bindingVariables, processPlan } from './process-plan.js';

/** Those of this process, of all that the node has. */
export async function ownGpus(
  command: Command,
  invocation: Invocation,
  { model }: IrqHost,
  { localRank, localSize }: MeshPlace,
): Promise<GpuPlace[]> {
  const { mapGpus, parseGpuList } = await import('../bench/mesh/gpu-map.js');
  const asked = invocation.text('gpus') ?? processEnvironment()['GPU_LIST'] ?? '';
  const data = dataNicWish(invocation.config);
  const visible = visibleGpus(model, ownEnvironment());
  const named = data.named === '' ? 0 : data.named.split(',').length;
  // Without GPUs a worker for each process or NIC stands for one.
  const fallback = visible.length || (localSize > 1 ? localSize : Math.max(named, 1));
  const gpus =
    asked === '' ? Array.from({ length: fallback }, (_, gpu) => gpu) : parseGpuList(asked);
  if (gpus.length < localSize) {
    throw usageError(
      command,
      `${localSize} processes on this node and ${gpus.length} GPUs: fewer processes, or --gpus`,
    );
  }
  const map = invocation.text('map') ?? '';
  const hostIndex = (gpu: number) => visible[gpu]?.index;
  const from = Math.floor((localRank * gpus.length) / localSize);
  const to = Math.floor(((localRank + 1) * gpus.length) / localSize);
  return mapGpus(model, { gpus, map, data, hostIndex }).slice(from, to);
}

/** Of UCCL's full-mesh runs: one channel, 64 MiB twenty times. */
const DEFAULTS = { 'flow.channels': 1, 'bench.iterations': 20 } as const;
const PERFORMANCE = { 'flow.channels': 2, 'tcpx.sockets': 2 } as const;

export async function meshConfig(invocation: Invocation): Promise<Config> {
  const { config } = invocation;
  const { deriveConfig } = await import('../bench/derived-config.js');
  const fast = invocation.has('performance') ? PERFORMANCE : {};
  const wanted = Object.entries({ ...DEFAULTS, ...fast }).filter(
    ([name]) => !isByHand(config, name as keyof typeof DEFAULTS),
  );
  return deriveConfig(config, Object.fromEntries(wanted), 'default of the mesh');
}

export interface MeshPolicy {
  readonly config: Config;
  /** Of the workers. */
  readonly variables: Readonly<Record<string, string>>;
  /** Binds interrupts where that is asked for. */
  begin(): void;
  /** Puts back what was bound; again and again is fine. */
  end(): void;
}

export async function meshPolicy(
  invocation: Invocation,
  host: IrqHost,
  { localRank }: MeshPlace,
  config: Config,
): Promise<MeshPolicy> {
  const isBound = processEnvironment()['SETUP_IRQ_AFFINITY'] === '1';
  if (!isBound && invocation.text('policy') === undefined) {
    return { config, variables: {}, begin: () => undefined, end: () => undefined };
  }
  const plan = isBound ? planFor(invocation, host.model) : processPlan(invocation, host);
  const why = plan.choice === undefined ? '' : `: ${plan.choice}`;
  printNote(`policy ${plan.policy}${why}`);
  let journal: string | undefined;
  const { deriveConfig } = await import('../bench/derived-config.js');
  const lanes = plan.txBindings === '' ? {} : { 'lane.bindings': plan.txBindings };
  return {
    config: deriveConfig(config, lanes, `policy ${plan.policy}`),
    variables: bindingVariables(plan),
    begin: () => {
      // Once on each node.
      if (isBound && localRank === 0) journal = bindForRun(invocation, host, plan);
    },
    end: () => {
      if (journal !== undefined) unbindAfterRun(host, journal);
      journal = undefined;
    },
  };
}
