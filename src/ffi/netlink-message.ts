// Generic netlink messages as bytes, in the byte order of the host (little-endian on x86-64 and
// arm64). Pure: no socket.
//
//   0    4    6     8    12   16   17   18    20
//   | len | type | flags | seq | pid | cmd | ver | 0 | attributes: len u16, type u16, value, pad 4

const HEADER_BYTES = 16;
const GENERIC_BYTES = 4;
const FLAG_REQUEST = 1;
const FLAG_ACK = 4;
const FLAG_DUMP = 0x300;
const TYPE_ERROR = 2;
const TYPE_DONE = 3;
const FLAG_MULTI = 2;
const TYPE_MASK = 0x3fff;

/** Message type of the family that names the others. */
export const CONTROL_FAMILY = 16;

export interface Attribute {
  readonly type: number;
  readonly value: Buffer;
}

export interface Reply {
  readonly command: number;
  readonly attributes: readonly Attribute[];
}

export function encodeRequest(
  family: number,
  command: number,
  isDump: boolean,
  attributes: readonly Attribute[],
): Buffer {
  const body = encodeAttributes(attributes);
  const message = Buffer.alloc(HEADER_BYTES + GENERIC_BYTES + body.length);
  message.writeUInt32LE(message.length, 0);
  message.writeUInt16LE(family, 4);
  message.writeUInt16LE(FLAG_REQUEST | (isDump ? FLAG_DUMP : FLAG_ACK), 6);
  message.writeUInt32LE(1, 8);
  message.writeUInt8(command, HEADER_BYTES);
  message.writeUInt8(1, HEADER_BYTES + 1);
  body.copy(message, HEADER_BYTES + GENERIC_BYTES);
  return message;
}

export function encodeAttributes(attributes: readonly Attribute[]): Buffer {
  return Buffer.concat(
    attributes.map(({ type, value }) => {
      const bytes = Buffer.alloc(padded(4 + value.length));
      bytes.writeUInt16LE(4 + value.length, 0);
      bytes.writeUInt16LE(type, 2);
      value.copy(bytes, 4);
      return bytes;
    }),
  );
}

export function stringAttribute(type: number, text: string): Attribute {
  return { type, value: Buffer.from(`${text}\0`, 'latin1') };
}

export function numberAttribute(type: number, number: number): Attribute {
  const value = Buffer.alloc(4);
  value.writeUInt32LE(number, 0);
  return { type, value };
}

/** The nested flag tells newer kernels that the value holds attributes itself. */
export function nestedAttribute(type: number, inner: readonly Attribute[]): Attribute {
  return { type: type | 0x8000, value: encodeAttributes(inner) };
}

/** Attributes until the bytes end or stop making sense. */
export function decodeAttributes(bytes: Buffer): Attribute[] {
  const attributes: Attribute[] = [];
  let at = 0;
  while (at + 4 <= bytes.length) {
    const length = bytes.readUInt16LE(at);
    if (length < 4 || at + length > bytes.length) break;
    const type = bytes.readUInt16LE(at + 2) & TYPE_MASK;
    attributes.push({ type, value: bytes.subarray(at + 4, at + length) });
    at += padded(length);
  }
  return attributes;
}

export interface Message {
  readonly type: number;
  readonly flags: number;
  readonly body: Buffer;
}

export function splitMessages(datagram: Buffer): Message[] {
  const messages: Message[] = [];
  let at = 0;
  while (at + HEADER_BYTES <= datagram.length) {
    const length = datagram.readUInt32LE(at);
    if (length < HEADER_BYTES || at + length > datagram.length) break;
    messages.push({
      type: datagram.readUInt16LE(at + 4),
      flags: datagram.readUInt16LE(at + 6),
      body: datagram.subarray(at + HEADER_BYTES, at + length),
    });
    at += padded(length);
  }
  return messages;
}

/** Whether the answer is complete: a done or error message; an acknowledgement is error 0. */
export function endsAnswer(datagram: Buffer): boolean {
  const messages = splitMessages(datagram);
  return messages.length === 0 || messages.some(({ type }) => isEnd(type));
}

function isEnd(type: number): boolean {
  return type === TYPE_ERROR || type === TYPE_DONE;
}

/** The replies of an answer, or the errno that the kernel gave. */
export function decodeAnswer(datagrams: readonly Buffer[]): readonly Reply[] | number {
  const replies: Reply[] = [];
  for (const { type, flags, body } of datagrams.flatMap(splitMessages)) {
    if (isEnd(type)) {
      const error = body.length >= 4 ? -body.readInt32LE(0) : 0;
      const isFailure = type === TYPE_ERROR || (flags & FLAG_MULTI) !== 0;
      if (isFailure && error > 0) return error;
      continue;
    }
    if (body.length < GENERIC_BYTES) continue;
    const attributes = decodeAttributes(body.subarray(GENERIC_BYTES));
    replies.push({ command: body.readUInt8(0), attributes });
  }
  return replies;
}

export function attributeNumber(
  attributes: readonly Attribute[],
  type: number,
): number | undefined {
  const value = attributes.find((attribute) => attribute.type === type)?.value;
  if (value === undefined) return undefined;
  // Counters come with 4 or 8 bytes, as they need.
  if (value.length >= 8) return value.readUInt32LE(4) * 2 ** 32 + value.readUInt32LE(0);
  if (value.length >= 4) return value.readUInt32LE(0);
  if (value.length >= 2) return value.readUInt16LE(0);
  return value.length === 1 ? value.readUInt8(0) : undefined;
}

function padded(length: number): number {
  return (length + 3) & ~3;
}
