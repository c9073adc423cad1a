// CUDA IPC: another process maps a whole allocation of cuMemAlloc. Memory from pools or the virtual
// memory calls cannot go this way (see shared-memory.ts); a process cannot open its own handle.

import type { GpuContext } from './context.js';
import { allocationOf } from './device-memory.js';
import { IPC_HANDLE_BYTES } from './functions.js';

const LAZY_ENABLE_PEER_ACCESS = 1;

export interface IpcExport {
  /** 64 opaque bytes for the other process; the same for every address of one allocation. */
  readonly handle: Uint8Array;
  /** Where the address lies in that allocation. */
  readonly offset: number;
  readonly allocationBytes: number;
}

export function exportIpc(context: GpuContext, addr: number): IpcExport {
  const range = allocationOf(context, addr);
  const { functions, scratch } = context.driver;
  const result = functions.cuIpcGetMemHandle(scratch.addr, addr);
  context.check(result, 'cuIpcGetMemHandle', `of 0x${addr.toString(16)}`);
  const handle = scratch.copyOut(0, IPC_HANDLE_BYTES);
  return { handle, offset: addr - range.baseAddr, allocationBytes: range.bytes };
}

export class IpcMapping {
  /** Start of the allocation; add the export's offset. */
  readonly baseAddr: number;
  private readonly context: GpuContext;

  constructor(context: GpuContext, handle: Uint8Array) {
    const { functions, scratch } = context.driver;
    const copy = { reserved: handle };
    const result = functions.cuIpcOpenMemHandle_v2(scratch.addr, copy, LAZY_ENABLE_PEER_ACCESS);
    context.check(result, 'cuIpcOpenMemHandle_v2');
    this.context = context;
    this.baseAddr = scratch.uint64(0);
  }

  close(): void {
    const result = this.context.driver.functions.cuIpcCloseMemHandle(this.baseAddr);
    this.context.check(result, 'cuIpcCloseMemHandle');
  }
}
