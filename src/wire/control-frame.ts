// Frames of the handshake and of the control connection.
//
//   ┌───────────────┬────────────┐      every connection starts with one of these; a data
//   │ head 16 bytes │ body       │      connection turns into data frames after ATTACHED
//   └───────────────┴────────────┘

import { TcpxError } from '../base/errors.js';
import type { ChannelIndex, Epoch } from '../base/quantity.js';
import { ByteReader, ByteWriter } from './byte-cursor.js';
import { declareFrame, type FrameField } from './frame-fields.js';

export const PROTOCOL_MAGIC = 0x5054584e; // "NXTP" in memory order
export const PROTOCOL_VERSION = 2;
export const CONTROL_HEAD_BYTES = 16;
/** Nothing before or after authentication needs a longer body. */
export const CONTROL_BODY_BYTES_MAX = 4096;
export const NAME_BYTES_MAX = 255;
export const NONCE_BYTES = 32;
export const PROOF_BYTES = 32;
export const GENERATION_BYTES = 8;
export const HOST_ID_BYTES = 16;
const ADDRESSES_MAX = 16;
const ADDRESS_BYTES_MAX = 64;
const REASON_BYTES_MAX = 512;
/** A key of a region as text is shorter. */
const REGION_BYTES_MAX = 128;
const EPOCH_MAX = 0x7fffffff;
const WORD = 2 ** 32;
/** In place of a channel in ATTACH: this connection follows the lost control connection. */
export const CONTROL_INDEX = 0xffffffff;
/** Likewise: this connection carries the frames of matched transfers. */
export const MATCH_INDEX = 0xfffffffe;

/** Bits of `features`; unknown ones of a peer are ignored. */
export const Feature = {
  /** Data channels must run over shared memory. */
  SharedMemory: 1,
  /** Data may go over the tcp provider, or the tcpx provider. */
  Tcp: 2,
  Tcpx: 4,
  /** The tcpx provider serves peers on the same host: an emulated plugin does. */
  SameHost: 8,
  /** This end has a shared secret: only so can the other say which of the two lacks it. */
  Secret: 16,
  /** Frames of data channels shall carry checks: where one end says so, both do. */
  Checked: 32,
  /** Data channels may run over shared memory, where both ends are on one host. */
  MayShare: 64,
  /** Channels may come late: those that were agreed, and one more for what each end posts. */
  LateChannels: 128,
} as const;

export const ControlKind = {
  Hello: 1,
  Challenge: 2,
  Propose: 3,
  Accept: 4,
  Refuse: 5,
  Attach: 6,
  Attached: 7,
  Goodbye: 8,
  Redial: 9,
  Taken: 10,
  Lookup: 11,
  Found: 12,
} as const;
export type ControlKind = (typeof ControlKind)[keyof typeof ControlKind];

const BODY_BYTES_AT = 8;

export const CONTROL_HEAD_FIELDS: readonly FrameField[] = declareFrame(CONTROL_HEAD_BYTES, [
  { name: 'magic', offset: 0, bytes: 4, meaning: '"NXTP"' },
  { name: 'version', offset: 4, bytes: 2, meaning: 'protocol version of the sender' },
  { name: 'kind', offset: 6, bytes: 2, meaning: '1 HELLO … 12 FOUND' },
  { name: 'bodyBytes', offset: BODY_BYTES_AT, bytes: 4, meaning: 'at most 4,096' },
  { name: 'reserved', offset: 12, bytes: 4, meaning: 'zero' },
]);

/** Client → server, first frame of a control connection. */
export interface Hello {
  readonly features: number;
  readonly generation: Uint8Array;
  readonly nonce: Uint8Array;
  /** Equal at two ends that run on the same host. */
  readonly hostId: Uint8Array;
  readonly name: string;
}

/** Server → client: who answers, and its proof of the secret. */
export interface Challenge extends Hello {
  readonly proof: Uint8Array;
}

/** What both ends must agree on. */
export interface Agreement {
  readonly channels: number;
  readonly windowChunks: number;
  readonly chunkBytes: number;
}

/** Client → server: its proof and the settings it wants; explicit ones are not to be changed. */
export interface Propose extends Agreement {
  readonly proof: Uint8Array;
  /** Bits 0, 1, 2: set by hand; 3: no fewer channels; 4: the session begins with one of them. */
  readonly explicit: number;
}

/** Server → client: what is agreed, and its proof that both ends have heard and said the same. */
export interface Accept extends Agreement {
  readonly proof: Uint8Array;
  readonly sessionId: number;
  /** Addresses for data connections; empty means the address of the control connection. */
  readonly addresses: readonly string[];
}

export interface Refuse {
  readonly code: string;
  readonly reason: string;
}

/** Client → server, first frame of a data connection, or of a later control connection. */
export interface Attach {
  readonly sessionId: number;
  readonly channelIndex: ChannelIndex;
  readonly epoch: Epoch;
  readonly nonce: Uint8Array;
  readonly proof: Uint8Array;
}

export interface Attached {
  readonly proof: Uint8Array;
}

export interface Goodbye {
  readonly reason: string;
}

/** Server → client: a connection is lost or stands still here, or is wanted first (epoch 0). */
export interface Redial {
  readonly channelIndex: ChannelIndex;
  readonly epoch: Epoch;
}

/** Client → server: ATTACHED has come, this is the control connection from here on. */
export interface Taken {
  readonly epoch: Epoch;
}

/** Either way, once the session is ready: which region has this name? */
export interface Lookup {
  readonly lookupId: number;
  readonly name: string;
}

/** The answer to the LOOKUP of that number; without a key there is no such region. */
export interface Found {
  readonly lookupId: number;
  readonly bytes: number;
  /** `tcpx-region/1 …`; empty where no region has the name. */
  readonly region: string;
}

export type ControlMessage =
  | ({ readonly kind: typeof ControlKind.Hello } & Hello)
  | ({ readonly kind: typeof ControlKind.Challenge } & Challenge)
  | ({ readonly kind: typeof ControlKind.Propose } & Propose)
  | ({ readonly kind: typeof ControlKind.Accept } & Accept)
  | ({ readonly kind: typeof ControlKind.Refuse } & Refuse)
  | ({ readonly kind: typeof ControlKind.Attach } & Attach)
  | ({ readonly kind: typeof ControlKind.Attached } & Attached)
  | ({ readonly kind: typeof ControlKind.Goodbye } & Goodbye)
  | ({ readonly kind: typeof ControlKind.Redial } & Redial)
  | ({ readonly kind: typeof ControlKind.Taken } & Taken)
  | ({ readonly kind: typeof ControlKind.Lookup } & Lookup)
  | ({ readonly kind: typeof ControlKind.Found } & Found);

export type MessageOf<K extends ControlKind> = Extract<ControlMessage, { kind: K }>;

/** Memory of the frame that is being encoded. */
const frame = new ByteWriter(CONTROL_HEAD_BYTES + CONTROL_BODY_BYTES_MAX);

export function encodeControl(message: ControlMessage): Uint8Array {
  frame
    .restart()
    .uint32(PROTOCOL_MAGIC)
    .uint16(PROTOCOL_VERSION)
    .uint16(message.kind)
    .uint32(0)
    .uint32(0);
  encodeBody(message, frame);
  return frame.uint32At(BODY_BYTES_AT, frame.bytesWritten - CONTROL_HEAD_BYTES).finish();
}

/** Where the proof stands in the frame of a step of the handshake. */
export function proofOffset(
  kind: typeof ControlKind.Challenge | typeof ControlKind.Propose | typeof ControlKind.Accept,
  frameBytes: number,
): number {
  return kind === ControlKind.Challenge ? frameBytes - PROOF_BYTES : CONTROL_HEAD_BYTES;
}

function encodeBody(message: ControlMessage, body: ByteWriter): ByteWriter {
  switch (message.kind) {
    case ControlKind.Hello:
      return encodeHello(message, body);
    case ControlKind.Challenge:
      return encodeHello(message, body).bytes(message.proof);
    case ControlKind.Propose:
      return encodeAgreement(message, body.bytes(message.proof).uint32(message.explicit));
    case ControlKind.Accept:
      encodeAgreement(message, body.bytes(message.proof).uint32(message.sessionId));
      body.uint16(message.addresses.length);
      for (const address of message.addresses) body.text(address);
      return body;
    case ControlKind.Refuse:
      return body.text(message.code).text(message.reason.slice(0, REASON_BYTES_MAX / 4));
    case ControlKind.Attach:
      body.uint32(message.sessionId).uint32(message.channelIndex).uint32(message.epoch);
      return body.bytes(message.nonce).bytes(message.proof);
    case ControlKind.Attached:
      return body.bytes(message.proof);
    case ControlKind.Goodbye:
      return body.text(message.reason.slice(0, REASON_BYTES_MAX / 4));
    case ControlKind.Redial:
      return body.uint32(message.channelIndex).uint32(message.epoch);
    case ControlKind.Taken:
      return body.uint32(message.epoch);
    case ControlKind.Lookup:
      return body.uint32(message.lookupId).text(message.name);
    case ControlKind.Found:
      return encodeFound(message, body);
  }
}

function encodeHello(hello: Hello, body: ByteWriter): ByteWriter {
  body.uint32(hello.features).bytes(hello.generation).bytes(hello.nonce);
  return body.bytes(hello.hostId).text(hello.name);
}

function encodeFound(found: Found, body: ByteWriter): ByteWriter {
  const high = Math.floor(found.bytes / WORD);
  return body
    .uint32(found.lookupId)
    .uint32(found.bytes % WORD)
    .uint32(high)
    .text(found.region);
}

function encodeAgreement(agreement: Agreement, body: ByteWriter): ByteWriter {
  return body
    .uint32(agreement.channels)
    .uint32(agreement.windowChunks)
    .uint32(agreement.chunkBytes);
}

export interface ControlHead {
  readonly kind: ControlKind;
  readonly bodyBytes: number;
}

/** Checks a head; undefined while fewer than CONTROL_HEAD_BYTES are there. */
export function decodeControlHead(bytes: Uint8Array): ControlHead | undefined {
  // Garbage is told from ours by its first bytes, however few have come.
  for (let index = 0; index < Math.min(4, bytes.length); index++) {
    if (bytes[index] !== ((PROTOCOL_MAGIC >>> (8 * index)) & 255)) {
      throw wireError('ERR_WIRE_MAGIC', 'the first bytes are not those of this protocol');
    }
  }
  if (bytes.length < CONTROL_HEAD_BYTES) return undefined;
  const reader = new ByteReader(bytes.subarray(0, CONTROL_HEAD_BYTES), 'control head');
  reader.uint32();
  const version = reader.uint16();
  if (version !== PROTOCOL_VERSION) {
    throw wireError(
      'ERR_WIRE_VERSION',
      `peer speaks version ${version}, this end ${PROTOCOL_VERSION}`,
    );
  }
  const kind = reader.uint16();
  const bodyBytes = reader.uint32();
  if (reader.uint32() !== 0) throw wireError('ERR_WIRE_FRAME', 'reserved bytes are zero');
  if (!isControlKind(kind)) throw wireError('ERR_WIRE_FRAME', `kind ${kind} is unknown`);
  if (bodyBytes > CONTROL_BODY_BYTES_MAX) {
    throw wireError(
      'ERR_WIRE_LIMIT',
      `a body of ${bodyBytes} bytes, at most ${CONTROL_BODY_BYTES_MAX}`,
    );
  }
  return { kind, bodyBytes };
}

export function decodeControlBody(kind: ControlKind, body: Uint8Array): ControlMessage {
  const reader = new ByteReader(body, controlKindName(kind));
  const message = readBody(kind, reader);
  reader.finish();
  return message;
}

function readBody(kind: ControlKind, reader: ByteReader): ControlMessage {
  switch (kind) {
    case ControlKind.Hello:
      return { kind, ...readHello(reader) };
    case ControlKind.Challenge:
      return { kind, ...readHello(reader), proof: reader.bytes(PROOF_BYTES) };
    case ControlKind.Propose:
      return {
        kind,
        proof: reader.bytes(PROOF_BYTES),
        explicit: reader.uint32(),
        ...readAgreement(reader),
      };
    case ControlKind.Accept:
      return {
        kind,
        proof: reader.bytes(PROOF_BYTES),
        sessionId: reader.uint32(),
        ...readAgreement(reader),
        addresses: readAddresses(reader),
      };
    case ControlKind.Refuse:
      return { kind, code: reader.text(64), reason: reader.text(REASON_BYTES_MAX) };
    case ControlKind.Attach:
      return {
        kind,
        sessionId: reader.uint32(),
        channelIndex: reader.uint32(),
        epoch: readEpoch(reader),
        nonce: reader.bytes(NONCE_BYTES),
        proof: reader.bytes(PROOF_BYTES),
      };
    case ControlKind.Attached:
      return { kind, proof: reader.bytes(PROOF_BYTES) };
    case ControlKind.Goodbye:
      return { kind, reason: reader.text(REASON_BYTES_MAX) };
    case ControlKind.Redial:
      return { kind, channelIndex: reader.uint32(), epoch: readEpoch(reader) };
    case ControlKind.Taken:
      return { kind, epoch: readEpoch(reader) };
    case ControlKind.Lookup:
      return { kind, lookupId: reader.uint32(), name: reader.text(NAME_BYTES_MAX) };
    case ControlKind.Found:
      return { kind, ...readFound(reader) };
  }
}

function readFound(reader: ByteReader): Found {
  const lookupId = reader.uint32();
  const bytes = reader.uint32() + reader.uint32() * WORD;
  if (!Number.isSafeInteger(bytes)) {
    throw wireError('ERR_WIRE_LIMIT', `a region of ${bytes} bytes`);
  }
  return { lookupId, bytes, region: reader.text(REGION_BYTES_MAX) };
}

/** Counts connections of an index, and travels through signed words. */
function readEpoch(reader: ByteReader): number {
  const epoch = reader.uint32();
  if (epoch > EPOCH_MAX) throw wireError('ERR_WIRE_LIMIT', `epoch ${epoch}, at most ${EPOCH_MAX}`);
  return epoch;
}

function readHello(reader: ByteReader): Hello {
  return {
    features: reader.uint32(),
    generation: reader.bytes(GENERATION_BYTES),
    nonce: reader.bytes(NONCE_BYTES),
    hostId: reader.bytes(HOST_ID_BYTES),
    name: reader.text(NAME_BYTES_MAX),
  };
}

function readAgreement(reader: ByteReader): Agreement {
  return { channels: reader.uint32(), windowChunks: reader.uint32(), chunkBytes: reader.uint32() };
}

function readAddresses(reader: ByteReader): string[] {
  const count = reader.uint16();
  if (count > ADDRESSES_MAX) throw wireError('ERR_WIRE_LIMIT', `${count} addresses, at most 16`);
  return Array.from({ length: count }, () => reader.text(ADDRESS_BYTES_MAX));
}

const KIND_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(ControlKind).map(([name, kind]) => [kind, name.toUpperCase()]),
);

function isControlKind(kind: number): kind is ControlKind {
  return KIND_NAMES.has(kind);
}

export function controlKindName(kind: ControlKind): string {
  return KIND_NAMES.get(kind) ?? String(kind);
}

function wireError(
  code: 'ERR_WIRE_MAGIC' | 'ERR_WIRE_VERSION' | 'ERR_WIRE_FRAME' | 'ERR_WIRE_LIMIT',
  rule: string,
) {
  return new TcpxError(code, rule, { facts: { rule } });
}
