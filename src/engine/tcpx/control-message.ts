// What the two ends of a tcpx session say to each other: handles, announcements, confirmations.
// They go over the engine's session, in pieces of at most one notification, or over the control
// stream; both have proved who is there. Everything from a peer is checked here or where it is
// used.

import { TcpxError } from '../../base/errors.js';
import type { RegionDescriptor } from '../../memory/region.js';

export const PROTOCOL = 3;
/** A whole message, pieces together. */
export const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;
const PIECE_BYTES = 60 * 1024;

export interface Hello {
  readonly kind: 'hello';
  readonly protocol: number;
  /** Counts set-ups of the session's channels; the client chooses. */
  readonly epoch: number;
  readonly plugin: PluginIdentity;
  readonly chunkBytes: number;
  readonly isHostRecv: boolean;
  readonly nics: readonly string[];
  /** One per channel, 128 bytes in hexadecimal. */
  readonly handles: readonly string[];
  /** The server's: where it waits for the control stream of this epoch. */
  readonly stream?: StreamOffer;
}

export interface StreamOffer {
  readonly port: number;
  /** 16 bytes in hexadecimal, new for every epoch. */
  readonly nonce: string;
}

export interface PluginIdentity {
  readonly name: string;
  readonly version: string;
  readonly tableVersion: number;
  readonly isEmulated: boolean;
  readonly pointerType: string;
}

/** Region, offset and length of one block, the region by its index in `regions`. */
export type BlockTuple = readonly [region: number, offset: number, bytes: number];

/** The sender is about to send these chunks, on these channels, with these tags. */
export interface Announce {
  readonly kind: 'announce';
  readonly epoch: number;
  /** Of the receiver's READ, or chosen by the sender of a WRITE. */
  readonly transfer: number;
  readonly op: 'write' | 'read';
  readonly sequence: number;
  readonly firstTag: number;
  readonly digest: number;
  readonly weights: readonly number[];
  /** Blocks up to this size are gathered; part of the plan. */
  readonly gatherBytes: number;
  readonly lengths: readonly number[];
  /** WRITE: where it goes. */
  readonly regions: readonly RegionDescriptor[];
  readonly blocks: readonly BlockTuple[];
  readonly isPaced: boolean;
  /** Base64; delivered after the data has landed. */
  readonly notify?: string;
}

export interface ReadRequest {
  readonly kind: 'read';
  readonly epoch: number;
  readonly transfer: number;
  readonly regions: readonly RegionDescriptor[];
  readonly blocks: readonly BlockTuple[];
  readonly notify?: string;
}

export type ControlMessage =
  | Hello
  /** All channels of this end are joined. */
  | {
      readonly kind: 'joined';
      readonly epoch: number;
      /** The client's: whether messages of transfers go over the control stream. */
      readonly isStreamed?: boolean;
    }
  /** The server asks the client to set the channels up again. */
  | { readonly kind: 'again'; readonly epoch: number }
  | Announce
  | ReadRequest
  /** Receives are posted: a paced sender may send. */
  | { readonly kind: 'go'; readonly epoch: number; readonly transfer: number; readonly op: string }
  | {
      readonly kind: 'landed';
      readonly epoch: number;
      readonly transfer: number;
      readonly op: string;
      readonly lastTag: number;
    }
  | {
      readonly kind: 'refuse';
      readonly epoch: number;
      readonly transfer: number;
      readonly code: string;
      readonly reason: string;
    }
  | {
      readonly kind: 'down';
      readonly epoch: number;
      readonly code: string;
      readonly reason: string;
    }
  /** No byte of that epoch lands any more. */
  | { readonly kind: 'fenced'; readonly epoch: number; readonly detail: string }
  | { readonly kind: 'notify'; readonly bytes: string };

const TRANSFER_KINDS: readonly string[] = ['announce', 'read', 'go', 'landed', 'refuse'];
const KINDS: readonly string[] = [
  ...['hello', 'joined', 'again', ...TRANSFER_KINDS, 'down', 'fenced'],
  'notify',
];

/** Messages about one transfer: those that go over the control stream where there is one. */
export type TransferMessage = Extract<
  ControlMessage,
  { kind: 'announce' | 'read' | 'go' | 'landed' | 'refuse' }
>;

export function isTransferMessage(message: ControlMessage): message is TransferMessage {
  return TRANSFER_KINDS.includes(message.kind);
}

/** The pieces of a message; each begins with 1 when another follows, with 0 when not. */
export function encodeMessage(message: ControlMessage): Uint8Array[] {
  const body = new TextEncoder().encode(JSON.stringify(message));
  if (body.length > MESSAGE_BYTES_MAX) {
    throw new TcpxError(
      'ERR_USAGE_ARGUMENT',
      `${message.kind} of ${body.length} bytes, at most ${MESSAGE_BYTES_MAX}: use fewer blocks`,
    );
  }
  const pieces: Uint8Array[] = [];
  for (let at = 0; at === 0 || at < body.length; at += PIECE_BYTES) {
    const part = body.subarray(at, at + PIECE_BYTES);
    const piece = new Uint8Array(part.length + 1);
    piece[0] = at + PIECE_BYTES < body.length ? 1 : 0;
    piece.set(part, 1);
    pieces.push(piece);
  }
  return pieces;
}

/** Puts pieces together and checks what comes out. */
export class MessageReader {
  #pieces: Uint8Array[] = [];
  #bytes = 0;

  /** The message that this piece completes, or undefined. */
  take(piece: Uint8Array): ControlMessage | undefined {
    if (piece.length === 0 || (piece[0] ?? 2) > 1) throw malformed('a piece without its mark');
    this.#bytes += piece.length - 1;
    if (this.#bytes > MESSAGE_BYTES_MAX) throw malformed(`more than ${MESSAGE_BYTES_MAX} bytes`);
    this.#pieces.push(piece.slice(1));
    if (piece[0] === 1) return undefined;
    const text = Buffer.concat(this.#pieces).toString('utf8');
    this.#pieces = [];
    this.#bytes = 0;
    return parseMessage(text);
  }
}

export function parseMessage(text: string): ControlMessage {
  let value: unknown;
  try {
    // checked: below, field by field
    value = JSON.parse(text);
  } catch {
    throw malformed('not JSON');
  }
  if (!isRecord(value) || !KINDS.includes(String(value['kind']))) throw malformed('unknown kind');
  const kind = String(value['kind']);
  if (kind !== 'notify') requireNumbers(value, ['epoch']);
  if (TRANSFER_KINDS.includes(kind)) requireNumbers(value, ['transfer']);
  if (kind === 'hello') checkHello(value);
  if (kind === 'announce') checkAnnounce(value);
  if (kind === 'read') checkTargets(value);
  if (kind === 'landed') requireNumbers(value, ['lastTag']);
  for (const name of ['notify', 'bytes', 'code', 'reason', 'detail', 'op']) {
    if (value[name] !== undefined && typeof value[name] !== 'string') throw malformed(name);
  }
  if (value['isStreamed'] !== undefined && typeof value['isStreamed'] !== 'boolean') {
    throw malformed('isStreamed');
  }
  return value as unknown as ControlMessage;
}

type Fields = Record<string, unknown>;

function checkHello(value: Fields): void {
  requireNumbers(value, ['protocol', 'chunkBytes']);
  const { handles, nics, plugin } = value;
  if (!isList(handles, (item) => typeof item === 'string' && /^[0-9a-f]{256}$/.test(item))) {
    throw malformed('handles');
  }
  if (!isList(nics, (item) => typeof item === 'string')) throw malformed('nics');
  if (!isRecord(plugin)) throw malformed('plugin');
  if (value['stream'] !== undefined && !isOffer(value['stream'])) throw malformed('stream');
}

function isOffer(item: unknown): boolean {
  if (!isRecord(item)) return false;
  const { port, nonce } = item;
  const isPort = isCount(port) && (port as number) > 0 && (port as number) < 65536;
  return isPort && typeof nonce === 'string' && /^[0-9a-f]{32}$/.test(nonce);
}

function checkAnnounce(value: Fields): void {
  requireNumbers(value, ['sequence', 'firstTag', 'digest', 'gatherBytes']);
  for (const name of ['weights', 'lengths']) {
    if (!isList(value[name], isCount)) throw malformed(name);
  }
  if (value['op'] !== 'write' && value['op'] !== 'read') throw malformed('op');
  checkTargets(value);
}

function checkTargets(value: Fields): void {
  const isBlock = (item: unknown): boolean =>
    Array.isArray(item) && item.length === 3 && item.every(isCount);
  if (!isList(value['blocks'], isBlock)) throw malformed('blocks');
  if (!isList(value['regions'], isDescriptor)) throw malformed('regions');
}

function isDescriptor(item: unknown): boolean {
  if (!isRecord(item)) return false;
  const { slot, generation, bytes, key } = item;
  const isKey = typeof key === 'string' && /^[0-9a-f]{32}$/.test(key);
  return isKey && [slot, generation, bytes].every(isCount);
}

function requireNumbers(value: Fields, names: readonly string[]): void {
  for (const name of names) if (!isCount(value[name])) throw malformed(name);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isList(value: unknown, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(isItem);
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `tcpx control message: ${rule}`);
}
