// Signals between engines: a channel's epoch is closed at this end, and so much has landed; or the
// control connection is lost. They travel as the payload of a SIGNAL frame on any living channel.

import { TcpxError } from '../base/errors.js';
import { isRefusal } from '../base/failure.js';
import { ByteReader, ByteWriter } from './byte-cursor.js';
import { declareFrame, type FrameField } from './frame-fields.js';

const SIGNAL_FENCE = 1;
const SIGNAL_CONTROL_LOST = 2;
const FENCE_BYTES = 24;
const CONTROL_LOST_BYTES = 8;
const CAUSE_DAMAGED = 1;
const REFUSAL_BYTES = 8;
/** The largest window: older refusals were acknowledged behind their REFUSE frame. */
export const FENCE_REFUSALS_MAX = 256;

export interface Refusal {
  readonly sequence: number;
  readonly reason: number;
}

export interface Fence {
  readonly channel: number;
  readonly epoch: number;
  /** Frames of the receiver of this signal that have landed here, modulo 2^32. */
  readonly landed: number;
  /** It was closed because what came was not what was sent. */
  readonly isDamaged: boolean;
  readonly refusals: readonly Refusal[];
}

/** The control connection of this epoch is gone at the sender; only the client can dial. */
export interface ControlLost {
  readonly controlEpoch: number;
}

export type Signal = Fence | ControlLost;

export const CONTROL_LOST_FIELDS: readonly FrameField[] = declareFrame(CONTROL_LOST_BYTES, [
  { name: 'kind', offset: 0, bytes: 4, meaning: '2 CONTROL_LOST' },
  { name: 'epoch', offset: 4, bytes: 4, meaning: 'which control connection; 0 the first' },
]);

export const FENCE_FIELDS: readonly FrameField[] = declareFrame(FENCE_BYTES, [
  { name: 'kind', offset: 0, bytes: 4, meaning: '1 FENCE' },
  { name: 'channel', offset: 4, bytes: 4, meaning: 'index of the channel that is closed' },
  { name: 'epoch', offset: 8, bytes: 4, meaning: 'which connection of that index' },
  {
    name: 'landed',
    offset: 12,
    bytes: 4,
    meaning: 'how many WRITE, NOTIFY and SIGNAL frames have landed on it, modulo 2^32',
  },
  {
    name: 'cause',
    offset: 16,
    bytes: 4,
    meaning: '1 a frame came damaged; 0 any other',
  },
  {
    name: 'refusals',
    offset: 20,
    bytes: 4,
    meaning: 'how many pairs follow: sequence (4) and reason (4) of a refused WRITE, at most 256',
  },
]);

export function encodeFence(fence: Fence): Uint8Array {
  const writer = new ByteWriter(FENCE_BYTES + fence.refusals.length * REFUSAL_BYTES)
    .uint32(SIGNAL_FENCE)
    .uint32(fence.channel)
    .uint32(fence.epoch)
    .uint32(fence.landed >>> 0)
    .uint32(fence.isDamaged ? CAUSE_DAMAGED : 0)
    .uint32(fence.refusals.length);
  for (const { sequence, reason } of fence.refusals) writer.uint32(sequence >>> 0).uint32(reason);
  return writer.finish();
}

export function encodeControlLost({ controlEpoch }: ControlLost): Uint8Array {
  const writer = new ByteWriter(CONTROL_LOST_BYTES);
  return writer.uint32(SIGNAL_CONTROL_LOST).uint32(controlEpoch).finish();
}

export function isFence(signal: Signal): signal is Fence {
  return 'landed' in signal;
}

export function decodeSignal(bytes: Uint8Array): Signal {
  const reader = new ByteReader(bytes, 'SIGNAL');
  const kind = reader.uint32();
  if (kind === SIGNAL_FENCE) return readFence(reader);
  if (kind !== SIGNAL_CONTROL_LOST)
    throw new TcpxError('ERR_WIRE_FRAME', `signal ${kind} is unknown`);
  const controlEpoch = reader.uint32();
  reader.finish();
  return { controlEpoch };
}

function readFence(reader: ByteReader): Fence {
  const fence = { channel: reader.uint32(), epoch: reader.uint32(), landed: reader.uint32() | 0 };
  const cause = reader.uint32();
  if (cause > CAUSE_DAMAGED) throw new TcpxError('ERR_WIRE_FRAME', `a fence for cause ${cause}`);
  const count = reader.uint32();
  if (count > FENCE_REFUSALS_MAX) {
    throw new TcpxError('ERR_WIRE_LIMIT', `a fence with ${count} refusals`);
  }
  const refusals = Array.from({ length: count }, () => ({
    sequence: reader.uint32() | 0,
    reason: readReason(reader),
  }));
  reader.finish();
  return { ...fence, isDamaged: cause === CAUSE_DAMAGED, refusals };
}

// It becomes the failure of a transfer: 0 would be none.
function readReason(reader: ByteReader): number {
  const reason = reader.uint32();
  if (isRefusal(reason)) return reason;
  throw new TcpxError('ERR_WIRE_FRAME', `a fence with a refusal for reason ${reason}`);
}
