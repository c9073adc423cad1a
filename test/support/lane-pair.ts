// Two lane ends and the links between them; `run` steps both in a seeded order.

import { type Random, seededRandom } from '../../src/base/random.js';
import { memoryRange, type Region } from '../../src/memory/region.js';
import type { Block } from '../../src/provider/block-columns.js';
import type { Channel } from '../../src/provider/tcp/lane/channel.js';
import { CHANNEL_BOTH, CHANNEL_OWN, CHANNEL_PEERS } from '../../src/provider/tcp/channel-plan.js';
import { COMMAND_OPEN_DEVICE } from '../../src/provider/tcp/lane/messages.js';
import { LaneEnd } from './lane-end.js';
import { SimulatedGpus, toDeviceAddr } from './simulated-gpu.js';
import {
  createVirtualLink,
  destroyVirtualLink,
  type LinkOptions,
  type VirtualLink,
} from './virtual-link.js';

export interface LanePairOptions {
  readonly seed?: number;
  readonly channels?: number;
  readonly windowChunks?: number;
  readonly chunkBytes?: number;
  readonly isChecked?: boolean;
  readonly receiveBytes?: number;
  readonly isByTurns?: boolean;
  readonly isCopied?: boolean;
  readonly link?: Omit<LinkOptions, 'random'>;
  /** The first end alone posts on every channel. */
  readonly isOwn?: boolean;
  /** Both ends have simulated GPUs. */
  readonly hasGpus?: boolean;
}

const STEPS_MAX = 2_000_000;

/** Both ends of a fresh channel: reads of the first at the second count from here on. */
export function startReadsAt({ reads }: Channel, { served }: Channel, sequence: number): void {
  reads.next = reads.arrived = reads.done = reads.told = sequence;
  served.tail = served.started = served.framed = served.confirmed = served.done = sequence;
}

export class LanePair {
  readonly random: Random;
  readonly a: LaneEnd;
  readonly b: LaneEnd;
  readonly links: VirtualLink[] = [];

  constructor(options: LanePairOptions = {}) {
    this.random = seededRandom(options.seed ?? 1);
    const agreement = {
      channels: options.channels ?? 1,
      windowChunks: options.windowChunks ?? 16,
      chunkBytes: options.chunkBytes ?? 65536,
      isChecked: options.isChecked ?? false,
      isByTurns: options.isByTurns ?? false,
      isCopied: options.isCopied ?? false,
      receiveBytes: options.receiveBytes ?? Number.POSITIVE_INFINITY,
    };
    const seed = options.hasGpus === true ? (options.seed ?? 1) : undefined;
    this.a = new LaneEnd(agreement, seed);
    this.b = new LaneEnd(agreement, seed === undefined ? undefined : seed + 500);
    for (let channel = 0; channel < agreement.channels; channel++) {
      const link = createVirtualLink({ random: this.random, ...options.link });
      this.links.push(link);
      this.a.addChannel(link.a, 0, options.isOwn === true ? CHANNEL_OWN : CHANNEL_BOTH);
      this.b.addChannel(link.b, 0, options.isOwn === true ? CHANNEL_PEERS : CHANNEL_BOTH);
    }
    this.a.step();
    this.b.step();
  }

  /** Steps until the claim holds; a limit of steps stands for the deadline. */
  run(isOver: () => boolean, stepsMax = STEPS_MAX): void {
    for (let steps = 0; steps < stepsMax; steps++) {
      if (isOver()) return;
      if (this.random.nextChance(0.5)) this.a.step();
      else this.b.step();
    }
    throw new Error(`not over after ${stepsMax} steps`);
  }

  /** Steps both until nothing has moved for a while. */
  settle(): void {
    for (let idle = 0; idle < 50; ) {
      const hasMoved = [this.a.step(), this.b.step()].includes(true);
      idle = hasMoved ? 0 : idle + 1;
    }
  }

  destroy(): void {
    this.a.destroy();
    this.b.destroy();
    for (const link of this.links) destroyVirtualLink(link);
  }

  finish(slot: number, end: LaneEnd = this.a): number {
    this.run(() => end.isFinished(slot));
    return end.transfers.failure(slot);
  }
}

/** A region of this end over fresh memory. */
export function addRegion(end: LaneEnd, bytes: number, rights = { read: true, write: true }) {
  const memory = new Uint8Array(bytes);
  return { memory, region: end.regions.register(memory, rights) };
}

export function block(
  local: Region,
  remote: Region,
  bytes: number,
  localOffset = 0,
  remoteOffset = 0,
): Block {
  return { local, localOffset, remote: remote.descriptor, remoteOffset, bytes };
}

/** A region of this end in memory of a simulated GPU; `memory` is what lies there. */
export function addGpuRegion(
  end: LaneEnd,
  bytes: number,
  device: number = SimulatedGpus.Healthy,
  rights = { read: true, write: true },
) {
  const memory = new Uint8Array(new ArrayBuffer(bytes));
  const addr = toDeviceAddr(memoryRange(memory).addr);
  end.command(COMMAND_OPEN_DEVICE, [device]);
  // The region keeps what it was registered with, and by that the memory.
  const source = { device, addr, bytes, memory };
  return { memory, region: end.regions.register(source, rights) };
}
