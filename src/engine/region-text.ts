// What a peer needs to reach a region, as text that travels in metadata. Pure, and versioned:
//
//   tcpx-region/1 3 1 0123456789abcdef0123456789abcdef      slot, generation, key
//   tcpx-region/1 3 1 0123456789abcdef0123456789abcdef gpu0    the same in memory of a GPU
//   … gpu0 plugin      the same, and the owner's plugin reaches it
//
// The length travels beside it, in the descriptor that the text belongs to; the owner checks it.

import { TcpxError } from '../base/errors.js';
import type { RegionDescriptor } from '../memory/region.js';

const VERSION = 'tcpx-region/1';
const HEAD = String.raw`^tcpx-region/1 (0|[1-9]\d{0,9}) ([1-9]\d{0,9}) ([0-9a-f]{32})`;
const PATTERN = new RegExp(String.raw`${HEAD}(?: gpu(\d|[1-5]\d|6[0-3]))?( plugin)?$`);
/** Both numbers are 32-bit words in the frames. */
const WORD_MAX = 0x7fffffff;

export function formatRegion(region: RegionDescriptor): string {
  const place = region.device === undefined ? '' : ` gpu${region.device}`;
  const reach = region.isPluginShared === true ? ' plugin' : '';
  return `${VERSION} ${region.slot} ${region.generation} ${region.key}${place}${reach}`;
}

export function parseRegion(text: string, bytes: number): RegionDescriptor {
  const [, slot = '', generation = '', key = '', gpu, plugin] = PATTERN.exec(text) ?? [];
  const place = {
    ...(gpu === undefined ? {} : { device: Number(gpu) }),
    ...(plugin === undefined ? {} : { isPluginShared: true }),
  };
  const numbers = { slot: Number(slot), generation: Number(generation) };
  const isUsable = key !== '' && numbers.slot <= WORD_MAX && numbers.generation <= WORD_MAX;
  if (isUsable && Number.isSafeInteger(bytes) && bytes > 0) {
    return { ...numbers, bytes, key, ...place };
  }
  throw new TcpxError('ERR_WIRE_METADATA', `region of ${bytes} bytes: its key is not ${VERSION}`);
}
