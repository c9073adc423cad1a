// Frames as docs/protocol.md lays them out: fields, their places and kinds are read from the page
// itself. Nothing here, and nothing that it imports, is from src/: this is a second implementation.

import { readFileSync } from 'node:fs';

interface PageField {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  /** A length of two bytes, then so many. */
  readonly isText: boolean;
  /** Several of them, as many as a field before it says. */
  readonly isList: boolean;
}

interface PageFrame {
  /** Undefined for what is no control frame. */
  readonly kind: number | undefined;
  readonly fields: readonly PageField[];
}

export type Values = Readonly<Record<string, number | bigint | string | Uint8Array>>;

const PAGE = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8');
const FRAMES = new Map(PAGE.split(/^### /m).map((part) => [titleOf(part), frameOf(part)]));
const MAGIC = Buffer.from('NXTP');
const CONTROL_HEAD = 'Head of a control frame';

function titleOf(part: string): string {
  return part.slice(0, part.indexOf('\n'));
}

function frameOf(part: string): PageFrame {
  const kind = /\bKind (\d+);/.exec(part)?.[1];
  const rows = part.matchAll(/^\| (\d+) \| (\d+) \| (\w+) \| (.*) \|$/gm);
  const fields = [...rows].map(([, offset, bytes, name = '', meaning = '']) => ({
    name,
    offset: Number(offset),
    bytes: Number(bytes),
    isText: meaning.includes('u16 length'),
    isList: meaning.startsWith('each: '),
  }));
  return { kind: kind === undefined ? undefined : Number(kind), fields };
}

function frame(title: string): PageFrame {
  const found = FRAMES.get(title);
  if (found === undefined || found.fields.length === 0) throw new Error(`the page has no ${title}`);
  return found;
}

/** Bytes of a frame without texts, or of a part of one; what is not named is zero. */
export function fixed(title: string, values: Values): Buffer {
  const { fields } = frame(title);
  const bytes = Buffer.alloc(fields.reduce((end, field) => Math.max(end, endOf(field)), 0));
  for (const [name, value] of Object.entries(values)) {
    const field = fields.find((one) => one.name === name);
    if (field === undefined) throw new Error(`${title} has no ${name}`);
    put(field, value).copy(bytes, field.offset);
  }
  return bytes;
}

export function bytesOf(title: string): number {
  return frame(title).fields.reduce((end, field) => Math.max(end, endOf(field)), 0);
}

/** A number of a part with fixed places. */
export function numberIn(title: string, name: string, bytes: Uint8Array): number {
  const field = frame(title).fields.find((one) => one.name === name);
  if (field === undefined) throw new Error(`${title} has no ${name}`);
  return numberOf(Buffer.from(bytes).subarray(field.offset, endOf(field)));
}

function endOf({ offset, bytes }: PageField): number {
  return offset + bytes;
}

function put(field: PageField, value: Values[string]): Buffer {
  if (field.isText)
    return Buffer.concat([little(Buffer.byteLength(String(value)), 2), textOf(value)]);
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value === 'string') return Buffer.from(value, 'hex');
  return little(value, field.bytes);
}

function textOf(value: Values[string]): Buffer {
  return Buffer.from(String(value));
}

function little(value: number | bigint, bytes: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out.subarray(0, bytes);
}

function numberOf(bytes: Buffer): number {
  return bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
}

export interface ControlOptions {
  readonly version?: number;
  readonly reserved?: number;
}

/** A control frame, head and body; lists are empty. */
export function control(name: string, values: Values, options: ControlOptions = {}): Buffer {
  const { kind, fields } = frame(name);
  const single = fields.filter(({ isList }) => !isList);
  const body = Buffer.concat(single.map((field) => put(field, values[field.name] ?? 0)));
  return Buffer.concat([
    fixed(CONTROL_HEAD, {
      magic: MAGIC,
      version: options.version ?? 2,
      kind: kind ?? 0,
      bodyBytes: body.length,
      reserved: options.reserved ?? 0,
    }),
    body,
  ]);
}

export interface Heard {
  readonly name: string;
  /** As it came, head and body. */
  readonly bytes: Buffer;
  readonly version: number;
  number(field: string): number;
  raw(field: string): Buffer;
  text(field: string): string;
}

/** The frame at the front, or undefined while it is not whole. */
export function readControl(bytes: Buffer): Heard | undefined {
  const headBytes = bytesOf(CONTROL_HEAD);
  if (bytes.length < headBytes) return undefined;
  const whole = headBytes + numberIn(CONTROL_HEAD, 'bodyBytes', bytes);
  if (bytes.length < whole) return undefined;
  const kind = numberIn(CONTROL_HEAD, 'kind', bytes);
  const [name = ''] = [...FRAMES].find(([, one]) => one.kind === kind) ?? [];
  const places = placesOf(name, bytes.subarray(headBytes, whole));
  const raw = (field: string): Buffer => {
    const found = places.get(field);
    if (found === undefined) throw new Error(`${name} has no ${field}`);
    return found;
  };
  return {
    name,
    bytes: Buffer.from(bytes.subarray(0, whole)),
    version: numberIn(CONTROL_HEAD, 'version', bytes),
    number: (field) => numberOf(raw(field)),
    raw,
    text: (field) => raw(field).toString(),
  };
}

// In order: texts before a field move it. Lists are left as they are.
function placesOf(name: string, body: Buffer): Map<string, Buffer> {
  const places = new Map<string, Buffer>();
  let at = 0;
  for (const field of frame(name).fields) {
    if (field.isList) break;
    const start = field.isText ? at + 2 : at;
    const end = field.isText ? start + body.readUInt16LE(at) : start + field.bytes;
    if (end > body.length) throw new Error(`${name} ends before ${field.name}`);
    places.set(field.name, body.subarray(start, end));
    at = end;
  }
  return places;
}
