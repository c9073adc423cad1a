// What the messages of a client say, and the answers to them. Pure; every length and number of a
// client is checked here, what it means is checked where it is used.

import { TcpxError } from '../base/errors.js';
import {
  ATTACH_MESSAGE,
  ATTACHED_MESSAGE,
  BLOCK_ROW,
  MEMORY_WAYS,
  MESSAGE_HEAD,
  MESSAGE_TEXT_BYTES_MAX,
  type MemoryWay,
  PREPARE_HEAD_BYTES,
  REGISTER_DESCRIPTORS_MAX,
  REGISTER_MESSAGE,
} from '../base/service-layout.js';

export interface AttachWish {
  readonly version: number;
  readonly name: string;
  readonly settings: string;
  readonly probeAddr: number;
  readonly probe: Uint8Array;
}

export function decodeAttach(payload: Uint8Array): AttachWish {
  const { fields, bytes } = ATTACH_MESSAGE;
  const reader = new PayloadReader(payload, 'ATTACH', bytes);
  const nameBytes = reader.int32(fields.nameBytes.offset);
  const settingsBytes = reader.int32(fields.settingsBytes.offset);
  return {
    version: reader.int32(fields.version.offset),
    name: reader.text(bytes, nameBytes),
    settings: reader.text(bytes + nameBytes, settingsBytes),
    probeAddr: reader.uint64(fields.probeAddr.offset),
    probe: payload.slice(fields.probe.offset, fields.probe.offset + 16),
  };
}

export interface RegisterWish {
  readonly way: MemoryWay;
  readonly rights: { readonly read: boolean; readonly write: boolean };
  readonly addr: number;
  readonly bytes: number;
  readonly offset: number;
  readonly handle: Uint8Array;
  readonly pciAddress: string;
  /** Lengths of the allocations of virtual memory, in the order of their descriptors. */
  readonly segments: readonly number[];
}

export function decodeRegister(payload: Uint8Array): RegisterWish {
  const { fields } = REGISTER_MESSAGE;
  const reader = new PayloadReader(payload, 'REGISTER', REGISTER_MESSAGE.bytes);
  const number = reader.int32(fields.way.offset);
  const way = (Object.keys(MEMORY_WAYS) as MemoryWay[]).find((one) => MEMORY_WAYS[one] === number);
  if (way === undefined) throw refused(`REGISTER: way ${number}`);
  const rights = reader.int32(fields.rights.offset);
  if (rights < 0 || rights > 3) throw refused(`REGISTER: rights ${rights}`);
  const pci = payload.subarray(fields.pciAddress.offset, fields.pciAddress.offset + 32);
  const end = pci.indexOf(0);
  return {
    way,
    rights: { read: (rights & 1) !== 0, write: (rights & 2) !== 0 },
    addr: reader.uint64(fields.addr.offset),
    bytes: reader.uint64(fields.bytes.offset),
    offset: reader.uint64(fields.offset.offset),
    handle: payload.slice(fields.handle.offset, fields.handle.offset + 64),
    pciAddress: Buffer.from(pci.subarray(0, end < 0 ? pci.length : end)).toString('latin1'),
    segments: decodeSegments(reader, payload.length - REGISTER_MESSAGE.bytes),
  };
}

function decodeSegments(reader: PayloadReader, bytes: number): number[] {
  const count = bytes / 8;
  if (!Number.isInteger(count) || count > REGISTER_DESCRIPTORS_MAX) {
    throw refused(`REGISTER: ${bytes} bytes behind it`);
  }
  return Array.from({ length: count }, (_, at) => reader.uint64(REGISTER_MESSAGE.bytes + at * 8));
}

/** Rows as columns; regions by the client's numbers for them. */
export interface PrepareWish {
  readonly operation: 'write' | 'read';
  readonly peer: number;
  readonly count: number;
  readonly memories: Uint32Array;
  readonly regions: Uint32Array;
  readonly localOffsets: Float64Array;
  readonly remoteOffsets: Float64Array;
  readonly bytes: Float64Array;
}

export function decodePrepare(payload: Uint8Array, blocksMax: number): PrepareWish {
  const reader = new PayloadReader(payload, 'PREPARE', PREPARE_HEAD_BYTES);
  const operation = reader.int32(0);
  if (operation !== 1 && operation !== 2) throw refused(`PREPARE: operation ${operation}`);
  const count = reader.int32(8);
  if (count < 1 || payload.length !== PREPARE_HEAD_BYTES + count * BLOCK_ROW.bytes) {
    throw refused(`PREPARE: ${count} blocks in ${payload.length} bytes`);
  }
  if (count > blocksMax) {
    throw new TcpxError(
      'ERR_CAP_QUOTA',
      `prepare ${count} blocks: service.blocksMax allows ${blocksMax}`,
    );
  }
  const wish = {
    operation: operation === 1 ? ('write' as const) : ('read' as const),
    peer: reader.int32(4),
    count,
    memories: new Uint32Array(count),
    regions: new Uint32Array(count),
    localOffsets: new Float64Array(count),
    remoteOffsets: new Float64Array(count),
    bytes: new Float64Array(count),
  };
  const { fields } = BLOCK_ROW;
  for (let row = 0; row < count; row++) {
    const at = PREPARE_HEAD_BYTES + row * BLOCK_ROW.bytes;
    wish.memories[row] = reader.int32(at + fields.memory.offset);
    wish.regions[row] = reader.int32(at + fields.region.offset);
    wish.localOffsets[row] = reader.uint64(at + fields.localOffset.offset);
    wish.remoteOffsets[row] = reader.uint64(at + fields.remoteOffset.offset);
    wish.bytes[row] = reader.uint64(at + fields.bytes.offset);
  }
  return wish;
}

/** Two numbers, or one, and texts behind: what the short messages are made of. */
export class PayloadReader {
  readonly #payload: Uint8Array;
  readonly #view: DataView;
  readonly #what: string;

  constructor(payload: Uint8Array, what: string, leastBytes: number) {
    if (payload.length < leastBytes) throw refused(`${what} of ${payload.length} bytes`);
    this.#payload = payload;
    this.#view = new DataView(payload.buffer, payload.byteOffset, payload.length);
    this.#what = what;
  }

  int32(at: number): number {
    return this.#view.getInt32(at, true);
  }

  /** A number of 64 bits that must be one of JavaScript's too. */
  uint64(at: number): number {
    const value = Number(this.#view.getBigUint64(at, true));
    if (Number.isSafeInteger(value)) return value;
    throw refused(`${this.#what}: ${value} is beyond 53 bits`);
  }

  text(at: number, bytes: number): string {
    const isInside = bytes >= 0 && at + bytes <= this.#payload.length;
    if (!isInside || bytes > MESSAGE_TEXT_BYTES_MAX) {
      throw refused(`${this.#what}: a text of ${bytes} bytes`);
    }
    return Buffer.from(this.#payload.subarray(at, at + bytes)).toString('utf8');
  }

  /** All that follows. */
  rest(at: number): string {
    return this.text(at, this.#payload.length - at);
  }
}

export function encodeAnswer(
  kind: number,
  sequence: number,
  status: number,
  payload: Uint8Array,
): Uint8Array {
  const answer = new Uint8Array(MESSAGE_HEAD.bytes + payload.length);
  const view = new DataView(answer.buffer);
  const { fields } = MESSAGE_HEAD;
  view.setInt32(fields.bytes.offset, answer.length, true);
  view.setInt32(fields.kind.offset, kind, true);
  view.setInt32(fields.sequence.offset, sequence, true);
  view.setInt32(fields.status.offset, status, true);
  answer.set(payload, MESSAGE_HEAD.bytes);
  return answer;
}

export type AttachedFacts = Readonly<
  Record<Exclude<keyof typeof ATTACHED_MESSAGE.fields, 'infoBytes'>, number>
>;

export function encodeAttached(facts: AttachedFacts, info: string): Uint8Array {
  const text = Buffer.from(info);
  const payload = new Uint8Array(ATTACHED_MESSAGE.bytes + text.length);
  const view = new DataView(payload.buffer);
  const { fields } = ATTACHED_MESSAGE;
  for (const [name, value] of Object.entries({ ...facts, infoBytes: text.length })) {
    view.setInt32(fields[name as keyof typeof fields].offset, value, true);
  }
  payload.set(text, ATTACHED_MESSAGE.bytes);
  return payload;
}

/** A number, and a text behind it. */
export function encodeNumbered(number: number, text = ''): Uint8Array {
  const bytes = Buffer.from(text);
  const payload = new Uint8Array(4 + bytes.length);
  new DataView(payload.buffer).setInt32(0, number, true);
  payload.set(bytes, 4);
  return payload;
}

export function encodeText(text: string): Uint8Array {
  return Buffer.from(text).subarray(0, MESSAGE_TEXT_BYTES_MAX);
}

function refused(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `socket: ${rule}`, { facts: { rule } });
}
