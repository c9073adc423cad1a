// Frames of matched transfers, on a connection of their own between the main threads of both ends.
// Each connection belongs to one epoch: one set-up of the plugin's channels, from HELLO to its end.
//
//   ┌───────────────┬────────────┐
//   │ head 32 bytes │ body       │
//   └───────────────┴────────────┘

import { TcpxError } from '../base/errors.js';
import type { Tag, TransferNumber } from '../base/quantity.js';
import { ByteReader, ByteWriter } from './byte-cursor.js';
import { declareFrame, type FrameField } from './frame-fields.js';

export const MATCH_HEAD_BYTES = 32;
/** A plan names every block of a request; nothing else is long. */
export const MATCH_BODY_BYTES_MAX = 16 * 1024 * 1024;
export const PLAN_SLOTS_MAX = 64;
const REASON_BYTES_MAX = 4096;
const CODE_BYTES_MAX = 64;
const TAG_MAX = 0x7fffffff;

export const MatchKind = {
  /** The sender's channels: plugin, settings, NICs and handles (match-hello.ts). */
  Hello: 1,
  /** All channels of this end are connected. */
  Joined: 2,
  /** The blocks of a request, kept under `plan` for later frames (match-plan.ts). */
  Plan: 3,
  /** The sender is about to send the chunks of a plan. The body of a WRITE is its notification. */
  Announce: 4,
  /** The peer shall send the chunks of a plan. */
  Read: 5,
  /** Receives are posted: a paced sender may send. */
  Go: 6,
  /** Every chunk up to `tag` has landed. */
  Landed: 7,
  Refuse: 8,
  /** The sender takes the epoch down. */
  Down: 9,
  /** No byte of the epoch lands at the sender any more. */
  Fenced: 10,
} as const;
export type MatchKind = (typeof MatchKind)[keyof typeof MatchKind];

/** Bits of `flags`. */
export const MatchFlag = {
  /** About a READ; a WRITE without. */
  Read: 1,
  /** Of ANNOUNCE: a notification follows the data. */
  Notify: 2,
  /** Of ANNOUNCE: the sender waits for GO. */
  Paced: 4,
} as const;
const FLAGS_ALL = 7;

export const MATCH_HEAD_FIELDS: readonly FrameField[] = declareFrame(MATCH_HEAD_BYTES, [
  { name: 'kind', offset: 0, bytes: 2, meaning: '1 HELLO … 10 FENCED' },
  { name: 'flags', offset: 2, bytes: 2, meaning: '1 about a READ, 2 with notification, 4 paced' },
  { name: 'bodyBytes', offset: 4, bytes: 4, meaning: 'at most 16 MiB' },
  { name: 'transfer', offset: 8, bytes: 4, meaning: 'number that the initiator gave the transfer' },
  { name: 'plan', offset: 12, bytes: 4, meaning: 'slot of the plan, below 64' },
  { name: 'sequence', offset: 16, bytes: 4, meaning: 'of ANNOUNCE: counts those of its sender' },
  { name: 'tag', offset: 20, bytes: 4, meaning: 'first tag of ANNOUNCE, last of LANDED' },
  { name: 'digest', offset: 24, bytes: 4, meaning: 'of the plan’s chunks, in PLAN and ANNOUNCE' },
  { name: 'reserved', offset: 28, bytes: 4, meaning: 'zero' },
]);

export interface MatchHead {
  readonly kind: MatchKind;
  readonly flags: number;
  readonly bodyBytes: number;
  readonly transfer: TransferNumber;
  readonly plan: number;
  readonly sequence: number;
  readonly tag: Tag;
  readonly digest: number;
}

export interface MatchFrame extends MatchHead {
  /** A view of what arrived; copied by whoever keeps it. */
  readonly body: Uint8Array;
}

/** What a frame says in its head; what is absent is zero. */
export type MatchFields = Pick<MatchHead, 'kind'> & Partial<Omit<MatchHead, 'kind' | 'bodyBytes'>>;

const NO_BODY = new Uint8Array(0);

export function encodeMatch(fields: MatchFields, body: Uint8Array = NO_BODY): Uint8Array {
  const frame = new Uint8Array(MATCH_HEAD_BYTES + body.length);
  const view = new DataView(frame.buffer);
  view.setUint16(0, fields.kind, true);
  view.setUint16(2, fields.flags ?? 0, true);
  view.setUint32(4, body.length, true);
  view.setUint32(8, fields.transfer ?? 0, true);
  view.setUint32(12, fields.plan ?? 0, true);
  view.setUint32(16, fields.sequence ?? 0, true);
  view.setUint32(20, fields.tag ?? 0, true);
  view.setUint32(24, fields.digest ?? 0, true);
  frame.set(body, MATCH_HEAD_BYTES);
  return frame;
}

/** Checks a head, of which MATCH_HEAD_BYTES are there. */
export function decodeMatchHead(bytes: Uint8Array): MatchHead {
  const reader = new ByteReader(bytes.subarray(0, MATCH_HEAD_BYTES), 'match head');
  const kind = reader.uint16();
  const flags = reader.uint16();
  const bodyBytes = reader.uint32();
  const [transfer, plan, sequence, tag, digest, reserved] = [
    reader.uint32(),
    reader.uint32(),
    reader.uint32(),
    reader.uint32(),
    reader.uint32(),
    reader.uint32(),
  ];
  if (!isMatchKind(kind)) throw broken(`kind ${kind} is unknown`);
  if ((flags & ~FLAGS_ALL) !== 0 || reserved !== 0) throw broken('reserved bits are zero');
  if (bodyBytes > bodyLimit(kind)) {
    throw new TcpxError('ERR_WIRE_LIMIT', `${matchKindName(kind)}: a body of ${bodyBytes} bytes`);
  }
  if (plan >= PLAN_SLOTS_MAX) throw broken(`plan ${plan}, at most ${PLAN_SLOTS_MAX - 1}`);
  if (tag > TAG_MAX) throw broken(`tag ${tag}, at most ${TAG_MAX}`);
  return { kind, flags, bodyBytes, transfer, plan, sequence, tag, digest };
}

/** Bounds what a peer can make us hold before a frame is whole. */
function bodyLimit(kind: MatchKind): number {
  switch (kind) {
    case MatchKind.Plan:
      return MATCH_BODY_BYTES_MAX;
    case MatchKind.Hello:
    case MatchKind.Announce:
      return 65_536;
    case MatchKind.Refuse:
    case MatchKind.Down:
    case MatchKind.Fenced:
      return CODE_BYTES_MAX + REASON_BYTES_MAX + 4;
    case MatchKind.Joined:
    case MatchKind.Read:
    case MatchKind.Go:
    case MatchKind.Landed:
      return 0;
  }
}

/** Body of REFUSE, DOWN and FENCED: a code (empty in FENCED) and a text for people. */
export interface MatchReason {
  readonly code: string;
  readonly reason: string;
}

export function encodeReason({ code, reason }: MatchReason): Uint8Array {
  return new ByteWriter(CODE_BYTES_MAX + REASON_BYTES_MAX + 4)
    .text(code.slice(0, CODE_BYTES_MAX))
    .text(reason.slice(0, REASON_BYTES_MAX / 4))
    .finish();
}

export function decodeReason(body: Uint8Array): MatchReason {
  const reader = new ByteReader(body, 'reason');
  const decoded = { code: reader.text(CODE_BYTES_MAX), reason: reader.text(REASON_BYTES_MAX) };
  reader.finish();
  return decoded;
}

function isMatchKind(kind: number): kind is MatchKind {
  return Object.values(MatchKind).includes(kind as MatchKind);
}

export function matchKindName(kind: MatchKind): string {
  const found = Object.entries(MatchKind).find(([, value]) => value === kind);
  return (found?.[0] ?? String(kind)).toUpperCase();
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `match frame: ${rule}`, { facts: { rule } });
}
