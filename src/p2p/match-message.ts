// What two p2p sessions tell each other about posted receives, as engine notifications. Pure.
//
//   0 u8 version 2 │ 1 u8 kind │ 2 u16 0 │ 4 u32 number │ 8 u32 tag │ 12 u32 reason │ 16 f64 bytes
//   offer only:  24 u32 slot │ 28 u32 generation │ 32 16 bytes key │ 48 u32 place
//   place: bits 0 … 7 the GPU + 1, 0 for host memory; bit 8: the receiver's plugin reaches it
//
// Integers are little endian. Receives are numbered from 1 in the order in which they were posted
// to a peer, and so are sends: the n-th send belongs to the n-th receive. The receiver OFFERs each
// receive; the sender writes there and says LANDED with the last byte, or REFUSEs.

import { TcpxError } from '../base/errors.js';
import type { RegionDescriptor } from '../memory/region.js';

export const MatchKind = Object.freeze({ Offer: 1, Landed: 2, Refuse: 3 } as const);
export type MatchKind = (typeof MatchKind)[keyof typeof MatchKind];

/** Why a send and a receive of the same number do not fit. */
export const MISFITS = ['ERR_XFER_ORDER', 'ERR_XFER_SHORT', 'ERR_XFER_OVERSIZE'] as const;
export type Misfit = (typeof MISFITS)[number];

const VERSION = 2;
const HEAD_BYTES = 24;
const OFFER_BYTES = 52;
const PLACE_AT = 48;
const PLACE_SHARED = 0x100;
const PLACE_GPU_MAX = 64;

export interface Offer {
  readonly number: number;
  readonly tag: number;
  readonly target: RegionDescriptor;
}

export type MatchMessage =
  | ({ readonly kind: typeof MatchKind.Offer } & Offer)
  | { readonly kind: typeof MatchKind.Landed; readonly number: number; readonly bytes: number }
  | { readonly kind: typeof MatchKind.Refuse; readonly number: number; readonly misfit: Misfit };

export function encodeOffer(offer: Offer): Uint8Array {
  const { slot, generation, key, bytes, device, isPluginShared } = offer.target;
  const message = head(MatchKind.Offer, OFFER_BYTES, offer.number, offer.tag, 0, bytes);
  const view = new DataView(message.buffer);
  view.setUint32(24, slot, true);
  view.setUint32(28, generation, true);
  message.set(Buffer.from(key, 'hex'), 32);
  const reach = isPluginShared === true ? PLACE_SHARED : 0;
  view.setUint32(PLACE_AT, (device === undefined ? 0 : device + 1) | reach, true);
  return message;
}

export function encodeLanded(number: number, tag: number, bytes: number): Uint8Array {
  return head(MatchKind.Landed, HEAD_BYTES, number, tag, 0, bytes);
}

export function encodeRefuse(number: number, tag: number, misfit: Misfit): Uint8Array {
  return head(MatchKind.Refuse, HEAD_BYTES, number, tag, MISFITS.indexOf(misfit), 0);
}

function head(
  kind: MatchKind,
  length: number,
  number: number,
  tag: number,
  reason: number,
  bytes: number,
): Uint8Array {
  const message = new Uint8Array(length);
  const view = new DataView(message.buffer);
  view.setUint8(0, VERSION);
  view.setUint8(1, kind);
  view.setUint32(4, number, true);
  view.setUint32(8, tag, true);
  view.setUint32(12, reason, true);
  view.setFloat64(16, bytes, true);
  return message;
}

export function decodeMatch(message: Uint8Array): MatchMessage {
  if (message.length < HEAD_BYTES) throw broken(`${message.length} bytes are too few`);
  const view = new DataView(message.buffer, message.byteOffset, message.length);
  if (view.getUint8(0) !== VERSION || view.getUint16(2, true) !== 0)
    throw broken('another version');
  const kind = view.getUint8(1);
  const number = view.getUint32(4, true);
  const bytes = view.getFloat64(16, true);
  if (message.length !== (kind === MatchKind.Offer ? OFFER_BYTES : HEAD_BYTES)) {
    throw broken(`${message.length} bytes for kind ${kind}`);
  }
  if (kind === MatchKind.Refuse) {
    const misfit = MISFITS[view.getUint32(12, true)];
    if (misfit === undefined) throw broken('an unknown reason');
    return { kind, number, misfit };
  }
  if (!Number.isSafeInteger(bytes) || bytes <= 0) throw broken(`${bytes} bytes of data`);
  if (kind === MatchKind.Landed) return { kind, number, bytes };
  if (kind !== MatchKind.Offer) throw broken(`kind ${kind}`);
  const [slot, generation] = [view.getUint32(24, true), view.getUint32(28, true)];
  const key = Buffer.from(message.subarray(32, PLACE_AT)).toString('hex');
  const place = readPlace(view.getUint32(PLACE_AT, true));
  const target = { slot, generation, bytes, key, ...place };
  return { kind, number, tag: view.getUint32(8, true), target };
}

function readPlace(word: number): Pick<RegionDescriptor, 'device' | 'isPluginShared'> {
  const gpu = word & ~PLACE_SHARED;
  if (gpu > PLACE_GPU_MAX) throw broken(`place ${word}`);
  return {
    ...(gpu === 0 ? {} : { device: gpu - 1 }),
    ...((word & PLACE_SHARED) === 0 ? {} : { isPluginShared: true }),
  };
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `message about a receive: ${rule}`, { facts: { rule } });
}
