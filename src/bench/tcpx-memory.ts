// What a benchmark of the tcpx provider moves: host memory that plugin processes map, or memory of
// a GPU.

import type { TcpxProvider } from '../engine/tcpx/tcpx-provider.js';
import { type BenchMemory, gpuMemory, hostMemoryOver, type MemoryKind } from './bench-memory.js';

export interface TcpxBenchMemory {
  readonly memory: BenchMemory;
  /** As the provider registers it. */
  readonly registrable: Parameters<TcpxProvider['register']>[0];
}

/** Throws ERR_CAP_GPU where GPU memory is asked for and there is none. */
export function allocateTcpxMemory(
  provider: TcpxProvider,
  kind: MemoryKind,
  bytes: number,
  gpu: number,
): TcpxBenchMemory {
  if (kind === 'vram') {
    const memory = gpuMemory(gpu, bytes);
    return { memory, registrable: memory.source };
  }
  const registrable = provider.allocate(bytes);
  return { memory: hostMemoryOver(new Uint8Array(registrable.buffer)), registrable };
}
