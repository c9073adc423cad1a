// What a lane needs from a GPU: chunks are copied between device memory and pinned host memory in
// batches, one queue for each direction, and completion is a question that costs a load.
// src/memory/gpu-staging.ts answers it with CUDA; tests have a simulated device.

import type { TcpxError } from '../base/errors.js';

/** Answers to "is this batch done?". */
export const COPY_PENDING = 0;
export const COPY_DONE = 1;
/** The device has failed: nothing that was not done before will be. */
export const COPY_FAILED = -1;

/** One direction. Batches are numbered (32 bits, wrapping) and become done in their order. */
export interface CopyQueue {
  /** Host address of the staging memory; slots lie in it one behind the other. */
  readonly stagingAddr: number;
  /** Whether `renew` works here; if not, nothing may refer to slots for longer than a call. */
  readonly isRenewable: boolean;
  /** Why it does not, where it was tried. */
  readonly refusal?: TcpxError | undefined;
  /** Whether a batch is over when `start` returns: its chunk then goes on at once. */
  readonly isPrompt: boolean;
  /** Where it is, what the last batch took. */
  readonly lastUs: number;
  readonly isFailed: boolean;
  /** Why, once it has failed. */
  readonly error: TcpxError | undefined;
  /** Makes room for the blocks of one chunk; the number of the batch that they will be part of. */
  begin(blockCount: number): number;
  /** `stagingOffset` counts from stagingAddr. */
  add(deviceAddr: number, stagingOffset: number, bytes: number): void;
  /** Starts the batch; false when it has no blocks. */
  start(): boolean;
  poll(batch: number): number;
  /** Whether all that was started is done, or will never be. */
  isIdle(): boolean;
  /**
   * Blocks until it is idle; a device that does not answer counts as failed. A batch that is
   * pending even then will never be done: whoever owns its memory is gone.
   */
  finish(): void;
  /**
   * Gives a slot other memory at its place: whoever refers to what it had keeps that as it is. No
   * copy of the slot is under way. False: the slot is lost, and the queue has failed.
   */
  renew(stagingOffset: number): boolean;
}

export interface StagingShape {
  readonly slotBytes: number;
  readonly slotCount: number;
  /** Blocks of one chunk at most. */
  readonly blocksMax: number;
}

/** A GPU as one lane uses it; belongs to the thread that opened it. */
export interface StagingDevice {
  readonly out: CopyQueue;
  readonly into: CopyQueue;
  /** Whether a CUDA event (or what stands for one) has happened. */
  pollEvent(handle: number): number;
  /** Waits for what is pending, then frees everything. */
  close(): void;
}

/** Where a thread gets its GPUs from. */
export interface GpuProvider {
  /** Throws unless these bytes are memory of that GPU. */
  checkRange(device: number, addr: number, bytes: number): void;
  openStaging(device: number, shape: StagingShape): StagingDevice;
  /** Everything opened has been closed before. */
  close(): void;
}

/** What a module exports that stands in for CUDA. */
export interface GpuModule {
  openGpuProvider(): GpuProvider;
}

/** Ordinals are small; tables by device number have room for these. */
export const GPUS_MAX = 64;

/**
 * Stands for host memory of another process, which a lane copies itself, at once. The last number
 * that tables by device have room for; no host has so many GPUs.
 */
export const HOST_DEVICE = GPUS_MAX - 1;
