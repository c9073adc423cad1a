// A transfer that this end has posted, until it is settled: checked blocks on both sides.

import { sleepMs, systemClock } from '../../base/clock.js';
import type { RegionDescriptor } from '../../memory/region.js';
import type { Block } from '../request.js';
import type { PostOptions } from '../session.js';
import type { SourceEvent } from '../transfer-table.js';
import type { BlockPlace } from './chunk-places.js';
import type { BlockTuple } from './control-message.js';
import type { RegionBook } from './region-book.js';
import type { TcpxTransfer } from './tcpx-transfer.js';

/** Between two looks at the event of a source. */
const LOOK_MS = 1;

export interface OwnTransfer {
  readonly transfer: TcpxTransfer;
  readonly lengths: readonly number[];
  readonly places: readonly BlockPlace[];
  /** The peer's regions, and its blocks by index into them. */
  readonly regions: readonly RegionDescriptor[];
  readonly blocks: readonly BlockTuple[];
  /** Base64. */
  readonly notify: string | undefined;
  readonly startUs: number;
  timer: NodeJS.Timeout | undefined;
}

/** Throws where a block does not lie in an own region that plugin processes have mapped. */
export function describeOwn(
  transfer: TcpxTransfer,
  blocks: readonly Block[],
  options: PostOptions,
  book: RegionBook,
): OwnTransfer {
  const regions: RegionDescriptor[] = [];
  const indexes = new Map<string, number>();
  let last: RegionDescriptor | undefined;
  let lastIndex = 0;
  const indexOf = (descriptor: RegionDescriptor): number => {
    // Mostly the same one again.
    if (descriptor !== last) lastIndex = find(descriptor);
    last = descriptor;
    return lastIndex;
  };
  const find = (descriptor: RegionDescriptor): number => {
    const known = indexes.get(descriptor.key);
    if (known !== undefined) return known;
    indexes.set(descriptor.key, regions.length);
    return regions.push(descriptor) - 1;
  };
  return {
    transfer,
    lengths: blocks.map(({ bytes }) => bytes),
    places: blocks.map(({ local, localOffset, bytes }) => book.ownPlace(local, localOffset, bytes)),
    blocks: blocks.map(({ remote, remoteOffset, bytes }) => [indexOf(remote), remoteOffset, bytes]),
    regions,
    notify: options.notify === undefined ? undefined : toBase64(options.notify),
    startUs: systemClock.nowUs(),
    timer: undefined,
  };
}

/** Looked at from the event loop: a transfer whose event never happens can be cancelled. */
export async function awaitSource(
  own: OwnTransfer,
  event: SourceEvent | undefined,
  isReady: (event: SourceEvent) => boolean,
): Promise<void> {
  if (event === undefined) return;
  while (own.transfer.status === 'active' && !isReady(event)) await sleepMs(LOOK_MS);
}

export function toBase64(message: Uint8Array | string): string {
  return Buffer.from(message).toString('base64');
}
