// Registered memory of any kind for tests of GPU memory: filled and checked where it lies.

import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { Engine } from '../../src/engine/engine.js';
import type { Region } from '../../src/memory/region.js';
import type { VramWay, VramWorld } from './vram-world.js';

/** What was confirmed to the peer may not be known here yet. */
const RELEASE_WAIT_MS = 1000;

export type Kind = VramWay | 'dram';

/** Registered memory of any kind, filled and checked where it lies. */
export interface Place {
  readonly region: Region;
  readonly bytes: number;
  fill(seed: number): void;
  mismatches(seed: number): number;
  release(): Promise<void>;
}

export function makePlace(world: VramWorld, engine: Engine, kind: Kind, bytes: number): Place {
  if (kind === 'dram') {
    const view = new Uint8Array(engine.allocate(bytes).buffer);
    const region = engine.register(view);
    return {
      region,
      bytes,
      fill: (seed) => fillPattern(view, seed, 0),
      mismatches: (seed) => verifyPattern(view, seed, 0).count,
      release: () => engine.deregister(region, RELEASE_WAIT_MS),
    };
  }
  const memory = world.allocate(bytes, kind);
  const region = engine.register({ device: 0, addr: memory.addr, bytes });
  return {
    region,
    bytes,
    fill: (seed) => world.fill(memory, seed),
    mismatches: (seed) => world.mismatches(memory, seed),
    release: async () => {
      await engine.deregister(region, RELEASE_WAIT_MS);
      memory.free();
    },
  };
}

/** The whole of two places of one length. */
export function wholeBlocks(local: Place, remote: Place) {
  const { region, bytes } = local;
  const { descriptor } = remote.region;
  return [{ local: region, localOffset: 0, remote: descriptor, remoteOffset: 0, bytes }];
}
