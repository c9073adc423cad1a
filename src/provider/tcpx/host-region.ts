// A region as a plugin host has it: mapped host memory, or memory of a GPU that another process
// owns, with the address under which the rail GPU reaches it.

import type { Mapping } from '../../ffi/libc/mapping.js';

export interface HostRegion extends Mapping {
  /** GPU memory: the processor must not touch `addr`. */
  readonly isDevice: boolean;
  /** As the rail GPU sees it; 0 in a host without one. */
  readonly deviceAddr: number;
  /** On the rail GPU itself: neither host memory nor another GPU's. */
  readonly isRailMemory: boolean;
  unmap(): void;
}

/**
 * How a plugin reaches a region: a file that both map, CUDA IPC, descriptors of the virtual memory
 * calls, a pool, or copies through memory of the plugin process.
 */
export type RegionWay = 'shared' | 'ipc' | 'vmm' | 'pool' | 'staged';

/** How an application hands memory to its plugin hosts; the names stand in receipts. */
export type SharedRegion =
  /** A part of a file, which is mapped whole, once for all its parts. */
  | {
      readonly way: 'shared';
      readonly path: string;
      readonly fileBytes: number;
      readonly offset: number;
      readonly bytes: number;
    }
  /** A whole cuMemAlloc allocation by CUDA IPC, and where the region lies in it. */
  | {
      readonly way: 'ipc';
      readonly device: number;
      readonly handle: string;
      readonly offset: number;
      readonly bytes: number;
    }
  /** Allocations of the virtual memory calls; a descriptor each is sent ahead, in this order. */
  | {
      readonly way: 'vmm';
      readonly device: number;
      readonly segments: readonly number[];
      readonly offset: number;
      readonly bytes: number;
    }
  /** An allocation of an exportable pool, whose descriptor is sent ahead. */
  | {
      readonly way: 'pool';
      readonly device: number;
      readonly pointer: string;
      readonly offset: number;
      readonly bytes: number;
    };
