// The bytes of ethtool requests: what to ask a driver and how to read its answer. Pure; the call
// itself is in ffi/. Structures are the kernel's interface, numbers in host byte order.

import type {
  EthtoolChannels,
  EthtoolCoalesce,
  EthtoolDriver,
  EthtoolFeature,
  EthtoolLink,
  EthtoolRings,
} from './ethtool-data.js';

export const EthtoolCommand = {
  DriverInfo: 0x03,
  Coalesce: 0x0e,
  Rings: 0x10,
  Strings: 0x1b,
  Statistics: 0x1d,
  PrivateFlags: 0x27,
  StringSetInfo: 0x37,
  RssTable: 0x38,
  Features: 0x3a,
  Channels: 0x3c,
  LinkSettings: 0x4c,
} as const;
export type EthtoolCommand = (typeof EthtoolCommand)[keyof typeof EthtoolCommand];

export const StringSet = { Statistics: 1, PrivateFlags: 2, Features: 4 } as const;
export type StringSet = (typeof StringSet)[keyof typeof StringSet];

const STRING_BYTES = 32;
/**
 * The kernel writes as many entries as the driver has *now*, whatever was asked for: room to
 * spare keeps a queue that appears between two calls from overwriting what lies behind.
 */
const SPARE_ENTRIES = 4096;

export function fixedRequest(command: EthtoolCommand, bytes: number): ArrayBuffer {
  const memory = new ArrayBuffer(bytes);
  new DataView(memory).setUint32(0, command, true);
  return memory;
}

export function stringSetInfoRequest(set: StringSet): ArrayBuffer {
  const memory = fixedRequest(EthtoolCommand.StringSetInfo, 24);
  new DataView(memory).setBigUint64(8, 1n << BigInt(set), true);
  return memory;
}

/** Entries of the set; none when the driver left its bit out of the mask. */
export function decodeStringSetInfo(memory: ArrayBuffer): number {
  const view = new DataView(memory);
  return view.getBigUint64(8, true) === 0n ? 0 : view.getUint32(16, true);
}

export function stringsRequest(set: StringSet, count: number): ArrayBuffer {
  const memory = fixedRequest(EthtoolCommand.Strings, 12 + STRING_BYTES * (count + SPARE_ENTRIES));
  const view = new DataView(memory);
  view.setUint32(4, set, true);
  view.setUint32(8, count, true);
  return memory;
}

export function decodeStrings(memory: ArrayBuffer): string[] {
  const bytes = Buffer.from(memory);
  const count = bytes.readUInt32LE(8);
  return Array.from({ length: count }, (_, index) =>
    decodeText(bytes, 12 + index * STRING_BYTES, STRING_BYTES),
  );
}

export function statisticsRequest(count: number): ArrayBuffer {
  const memory = fixedRequest(EthtoolCommand.Statistics, 8 + 8 * (count + SPARE_ENTRIES));
  new DataView(memory).setUint32(4, count, true);
  return memory;
}

/** Values in the order of the names; Numbers, exact below 2^53. */
export function decodeStatistics(
  memory: ArrayBuffer,
  names: readonly string[],
): Record<string, number> {
  const view = new DataView(memory);
  const count = Math.min(view.getUint32(4, true), names.length);
  const statistics: Record<string, number> = {};
  for (let index = 0; index < count; index++) {
    const low = view.getUint32(8 + index * 8, true);
    const high = view.getUint32(12 + index * 8, true);
    // Drivers pad with empty names.
    const name = (names[index] ?? '').trim();
    if (name !== '') statistics[name] = high * 2 ** 32 + low;
  }
  return statistics;
}

export function featuresRequest(count: number): ArrayBuffer {
  const blocks = Math.ceil(count / 32);
  const memory = fixedRequest(EthtoolCommand.Features, 8 + 16 * blocks);
  new DataView(memory).setUint32(4, blocks, true);
  return memory;
}

export function decodeFeatures(
  memory: ArrayBuffer,
  names: readonly string[],
): Record<string, EthtoolFeature> {
  const view = new DataView(memory);
  const blocks = view.getUint32(4, true);
  const features: Record<string, EthtoolFeature> = {};
  for (const [index, name] of names.entries()) {
    const block = Math.floor(index / 32);
    if (name === '' || block >= blocks) continue;
    // available, requested, active, never changed
    const bitOf = (field: number) =>
      ((view.getUint32(8 + block * 16 + field * 4, true) >>> (index % 32)) & 1) === 1;
    features[name] = { isActive: bitOf(2), isFixed: bitOf(3) || !bitOf(0) };
  }
  return features;
}

export function decodePrivateFlags(
  memory: ArrayBuffer,
  names: readonly string[],
): Record<string, boolean> {
  const bits = new DataView(memory).getUint32(4, true);
  const flags: Record<string, boolean> = {};
  for (const [index, name] of names.entries()) flags[name] = ((bits >>> index) & 1) === 1;
  return flags;
}

export const DRIVER_INFO_BYTES = 196;

export function decodeDriverInfo(memory: ArrayBuffer): EthtoolDriver {
  const bytes = Buffer.from(memory);
  return {
    driver: decodeText(bytes, 4, STRING_BYTES),
    version: decodeText(bytes, 36, STRING_BYTES),
    firmwareVersion: decodeText(bytes, 68, STRING_BYTES),
    busInfo: decodeText(bytes, 100, STRING_BYTES),
  };
}

export const CHANNELS_BYTES = 36;

export function decodeChannels(memory: ArrayBuffer): EthtoolChannels {
  const word = wordsOf(memory);
  return {
    rxMax: word(1),
    txMax: word(2),
    combinedMax: word(4),
    rx: word(5),
    tx: word(6),
    other: word(7),
    combined: word(8),
  };
}

export const RINGS_BYTES = 36;

export function decodeRings(memory: ArrayBuffer): EthtoolRings {
  const word = wordsOf(memory);
  return { rxMax: word(1), txMax: word(4), rx: word(5), tx: word(8), tcpDataSplit: undefined };
}

export const COALESCE_BYTES = 92;

export function decodeCoalesce(memory: ArrayBuffer): EthtoolCoalesce {
  const word = wordsOf(memory);
  return {
    rxUsecs: word(1),
    rxFrames: word(2),
    txUsecs: word(5),
    txFrames: word(6),
    isAdaptiveRx: word(10) !== 0,
    isAdaptiveTx: word(11) !== 0,
  };
}

/** Header of 48 bytes, then three link-mode masks of at most 127 words each. */
export const LINK_SETTINGS_BYTES = 48 + 3 * 4 * 127;
const LINK_MASK_WORDS_AT = 15;

/**
 * The first answer carries, negated, how many mask words the kernel uses; the request is repeated
 * with that count. undefined = the answer is already complete.
 */
export function linkSettingsAgain(memory: ArrayBuffer): ArrayBuffer | undefined {
  const words = new DataView(memory).getInt8(LINK_MASK_WORDS_AT);
  if (words >= 0) return undefined;
  const again = fixedRequest(EthtoolCommand.LinkSettings, LINK_SETTINGS_BYTES);
  new DataView(again).setInt8(LINK_MASK_WORDS_AT, -words);
  return again;
}

export function decodeLink(memory: ArrayBuffer): EthtoolLink {
  const view = new DataView(memory);
  const speed = view.getInt32(4, true);
  const duplex = view.getUint8(8);
  return {
    speedMbps: speed > 0 ? speed : undefined,
    duplex: duplex === 0 ? 'half' : duplex === 1 ? 'full' : undefined,
    isAutoNegotiated: view.getUint8(11) === 1,
  };
}

/** Asked with room for nothing, the kernel answers how many entries there are. */
export function rssTableRequest(count: number): ArrayBuffer {
  const memory = fixedRequest(EthtoolCommand.RssTable, 8 + 4 * count);
  new DataView(memory).setUint32(4, count, true);
  return memory;
}

export function decodeRssCount(memory: ArrayBuffer): number {
  return new DataView(memory).getUint32(4, true);
}

export function decodeRssTable(memory: ArrayBuffer): number[] {
  const word = wordsOf(memory);
  return Array.from({ length: decodeRssCount(memory) }, (_, index) => word(2 + index));
}

function wordsOf(memory: ArrayBuffer): (index: number) => number {
  const view = new DataView(memory);
  return (index) => view.getUint32(index * 4, true);
}

function decodeText(bytes: Buffer, at: number, length: number): string {
  const end = bytes.indexOf(0, at);
  return bytes.toString('latin1', at, end < 0 ? at + length : Math.min(end, at + length));
}
