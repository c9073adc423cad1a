// Registered memory of any kind for tests of GPU memory: filled and checked where it lies.

import type { TcpxProvider } from '../../src/engine/tcpx/tcpx-provider.js';
import { fillPattern, verifyPattern } from '../../src/base/pattern.js';
import type { Region } from '../../src/memory/region.js';
import type { VramWay, VramWorld } from './vram-world.js';

export type Kind = VramWay | 'dram';

/** Registered memory of any kind, filled and checked where it lies. */
export interface Place {
  readonly region: Region;
  readonly bytes: number;
  fill(seed: number): void;
  mismatches(seed: number): number;
  release(): Promise<void>;
}

export async function makePlace(
  world: VramWorld,
  provider: TcpxProvider,
  kind: Kind,
  bytes: number,
): Promise<Place> {
  if (kind === 'dram') {
    const memory = provider.allocate(bytes);
    const view = new Uint8Array(memory.buffer);
    const region = await provider.register(memory);
    return {
      region,
      bytes,
      fill: (seed) => fillPattern(view, seed, 0),
      mismatches: (seed) => verifyPattern(view, seed, 0).count,
      release: () => provider.deregister(region),
    };
  }
  const memory = world.allocate(bytes, kind);
  const region = await provider.register({ device: 0, addr: memory.addr, bytes });
  return {
    region,
    bytes,
    fill: (seed) => world.fill(memory, seed),
    mismatches: (seed) => world.mismatches(memory, seed),
    release: async () => {
      await provider.deregister(region);
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
