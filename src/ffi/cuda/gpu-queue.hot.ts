// What the data path puts on a stream: copies, launches, events. Numbers in, CUDA's result out
// (0 is success); no object is made per call. The caller checks every result outside the hot file.

import type { CudaFunctions } from './functions.js';
import { type KernelGraph, NodeParamsLayout } from './kernel-graph.js';
import { LaunchConfigLayout, type PreparedLaunch } from './module.js';

export class GpuQueue {
  readonly streamHandle: number;
  private readonly functions: CudaFunctions;

  constructor(functions: CudaFunctions, streamHandle: number) {
    this.functions = functions;
    this.streamHandle = streamHandle;
  }

  copyHostToDevice(targetAddr: number, sourceAddr: number, bytes: number): number {
    return this.functions.cuMemcpyHtoDAsync_v2(targetAddr, sourceAddr, bytes, this.streamHandle);
  }

  copyDeviceToHost(targetAddr: number, sourceAddr: number, bytes: number): number {
    return this.functions.cuMemcpyDtoHAsync_v2(targetAddr, sourceAddr, bytes, this.streamHandle);
  }

  copyDeviceToDevice(targetAddr: number, sourceAddr: number, bytes: number): number {
    return this.functions.cuMemcpyDtoDAsync_v2(targetAddr, sourceAddr, bytes, this.streamHandle);
  }

  /** Between any two addresses that the driver knows, host or device. */
  copy(targetAddr: number, sourceAddr: number, bytes: number): number {
    return this.functions.cuMemcpyAsync(targetAddr, sourceAddr, bytes, this.streamHandle);
  }

  /** Writes a word once everything before it in the stream is done and visible. */
  writeWord(targetAddr: number, value: number): number {
    return this.functions.cuStreamWriteValue32_v2(this.streamHandle, targetAddr, value >>> 0, 0);
  }

  fillDevice(targetAddr: number, value: number, bytes: number): number {
    return this.functions.cuMemsetD8Async(targetAddr, value, bytes, this.streamHandle);
  }

  /** The driver copies the parameters during the call; the block is free for the next one after. */
  launch(prepared: PreparedLaunch, gridBlocks: number, blockThreads: number): number {
    if (prepared.mayOverlap) return this.launchOverlapping(prepared, gridBlocks, blockThreads);
    return this.functions.cuLaunchKernel(
      prepared.functionHandle,
      gridBlocks,
      1,
      1,
      blockThreads,
      1,
      1,
      0,
      this.streamHandle,
      prepared.parametersAddr,
      0,
    );
  }

  private launchOverlapping(
    prepared: PreparedLaunch,
    gridBlocks: number,
    blockThreads: number,
  ): number {
    const { config } = prepared;
    config.setUint32(LaunchConfigLayout.gridX, gridBlocks);
    config.setUint32(LaunchConfigLayout.blockX, blockThreads);
    config.setUint64(LaunchConfigLayout.stream, this.streamHandle);
    return this.functions.cuLaunchKernelEx(
      config.addr,
      prepared.functionHandle,
      prepared.parametersAddr,
      0,
    );
  }

  /**
   * The same launch, cheaper for the CPU, without overlap; parameters are copied as above.
   * `prepared` is of the graph's kernel.
   */
  launchGraph(graph: KernelGraph, prepared: PreparedLaunch, gridBlocks: number): number {
    graph.nodeParams.setUint32(NodeParamsLayout.gridX, gridBlocks);
    graph.nodeParams.setUint64(NodeParamsLayout.parameters, prepared.parametersAddr);
    const result = this.functions.cuGraphExecKernelNodeSetParams(
      graph.execHandle,
      graph.nodeHandle,
      graph.nodeParams.addr,
    );
    if (result !== 0) return result;
    return this.functions.cuGraphLaunch(graph.execHandle, this.streamHandle);
  }

  recordEvent(eventHandle: number): number {
    return this.functions.cuEventRecord(eventHandle, this.streamHandle);
  }

  waitEvent(eventHandle: number): number {
    return this.functions.cuStreamWaitEvent(this.streamHandle, eventHandle, 0);
  }

  /** 0 when it has happened, 600 while it has not, else a failure. */
  queryEvent(eventHandle: number): number {
    return this.functions.cuEventQuery(eventHandle);
  }

  /** 0 when all work is done, 600 while it is not, else a failure. */
  query(): number {
    return this.functions.cuStreamQuery(this.streamHandle);
  }
}
