// A CUDA graph of one kernel: the driver prepares the launch once, and each launch then costs the
// CPU less than cuLaunchKernel (4.1–4.4 µs instead of 4.6–5.1 with a list in the parameters, on an
// H200 host). In the stream it counts like any other launch.

import { assert } from '../../base/assert.js';
import type { GpuContext } from './context.js';
import { FixedMemory } from './fixed-memory.js';
import type { PreparedLaunch } from './module.js';

/** struct CUDA_KERNEL_NODE_PARAMS in its first form, which every driver since CUDA 11 takes. */
export const NodeParamsLayout = {
  functionHandle: 0,
  gridX: 8,
  gridY: 12,
  gridZ: 16,
  blockX: 20,
  blockY: 24,
  blockZ: 28,
  parameters: 40,
  bytes: 56,
} as const;

export class KernelGraph {
  readonly prepared: PreparedLaunch;
  readonly execHandle: number;
  readonly nodeHandle: number;
  /** Grid and block are filled in at each launch. */
  readonly nodeParams: FixedMemory;
  private readonly graphHandle: number;
  private readonly context: GpuContext;

  /** `prepared` outlives the graph; its parameters are read at every launch. */
  constructor(context: GpuContext, prepared: PreparedLaunch, blockThreads: number) {
    assert(blockThreads > 0, 'a block has threads');
    const { functions, scratch } = context.driver;
    this.context = context;
    this.prepared = prepared;
    this.nodeParams = makeNodeParams(prepared, blockThreads);
    context.check(functions.cuGraphCreate(scratch.addr, 0), 'cuGraphCreate');
    this.graphHandle = scratch.uint64(0);
    const added = functions.cuGraphAddKernelNode(
      scratch.addr,
      this.graphHandle,
      0,
      0,
      this.nodeParams.addr,
    );
    context.check(added, 'cuGraphAddKernelNode');
    this.nodeHandle = scratch.uint64(0);
    const made = functions.cuGraphInstantiateWithFlags(scratch.addr, this.graphHandle, 0);
    context.check(made, 'cuGraphInstantiateWithFlags');
    this.execHandle = scratch.uint64(0);
  }

  /** No launch of it may be pending. */
  destroy(): void {
    const { functions } = this.context.driver;
    this.context.check(functions.cuGraphExecDestroy(this.execHandle), 'cuGraphExecDestroy');
    this.context.check(functions.cuGraphDestroy(this.graphHandle), 'cuGraphDestroy');
    this.nodeParams.free();
  }
}

function makeNodeParams(prepared: PreparedLaunch, blockThreads: number): FixedMemory {
  const nodeParams = new FixedMemory(NodeParamsLayout.bytes);
  const { gridX, gridY, gridZ, blockX, blockY, blockZ } = NodeParamsLayout;
  for (const one of [gridX, gridY, gridZ, blockY, blockZ]) nodeParams.setUint32(one, 1);
  nodeParams.setUint32(blockX, blockThreads);
  nodeParams.setUint64(NodeParamsLayout.functionHandle, prepared.functionHandle);
  nodeParams.setUint64(NodeParamsLayout.parameters, prepared.parametersAddr);
  return nodeParams;
}
