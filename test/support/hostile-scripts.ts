// What a hostile peer says during the bootstrap: right frames, nearly right ones, others, garbage.

import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { attachProof } from '../../src/engine/trust.js';
import { ControlKind, type ControlMessage, encodeControl } from '../../src/wire/control-frame.js';
import type { Challenge } from './raw-handshake.js';
import { RAW_WISH, rawHello, rawPropose, transcriptOf } from './raw-handshake.js';

export const HOSTILE_SECRET = 'a secret that fuzzers know';
const secret = new TextEncoder().encode(HOSTILE_SECRET);

/** One thing to say; `edits` overwrite bytes of it, `cut` leaves out its end. */
export interface Line {
  readonly say: (typeof SAYINGS)[number];
  readonly wish: typeof RAW_WISH;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly edits: readonly (readonly [number, number])[];
  readonly cut: number;
}

const SAYINGS = [
  'hello',
  'propose',
  'reflected propose',
  'unproved propose',
  'attach',
  'challenge',
  'accept',
  'refuse',
  'attached',
  'goodbye',
  'garbage',
] as const;

const count = fc.oneof(
  fc.constantFrom(0, 1, 2, 16, 17, 4096, 65536, 0xffffffff),
  fc.nat({ max: 0xffffffff }),
);
const wish = fc.oneof(
  { arbitrary: fc.constant(RAW_WISH), weight: 3 },
  {
    arbitrary: fc.record({
      explicit: count,
      channels: count,
      windowChunks: count,
      chunkBytes: count,
    }),
    weight: 1,
  },
);
const rarely = <T>(other: fc.Arbitrary<T[]>): fc.Arbitrary<T[]> =>
  fc.oneof({ arbitrary: fc.constant<T[]>([]), weight: 5 }, { arbitrary: other, weight: 1 });

export const line: fc.Arbitrary<Line> = fc.record({
  say: fc.constantFrom(...SAYINGS),
  wish,
  text: fc.oneof(fc.ipV4(), fc.ipV6(), fc.string({ maxLength: 60, unit: 'binary' })),
  bytes: fc.uint8Array({ maxLength: 100 }),
  edits: rarely(fc.array(fc.tuple(fc.nat({ max: 130 }), fc.nat({ max: 255 })), { maxLength: 3 })),
  cut: fc.oneof({ arbitrary: fc.constant(0), weight: 6 }, { arbitrary: fc.nat(40), weight: 1 }),
});

/** A script that begins as an honest client or server would, more often than chance has it. */
export function scriptFrom(start: readonly Line['say'][]): fc.Arbitrary<Line[]> {
  const honest = fc
    .tuple(fc.nat({ max: start.length }), fc.array(line, { maxLength: start.length + 3 }))
    .map(([kept, lines]) =>
      lines.map((one, index) => {
        const say = start[index];
        return index < kept && say !== undefined ? { ...one, say } : one;
      }),
    );
  return honest;
}

/** What the speaker has heard so far. */
export interface Heard {
  readonly nonce: Uint8Array;
  readonly challenge: Challenge | undefined;
  readonly sessionId: number;
  /** Of the session that was accepted. */
  readonly key?: Uint8Array;
}

export function speak(one: Line, heard: Heard): Uint8Array {
  const whole = one.say === 'garbage' ? one.bytes : encodeControl(messageOf(one, heard));
  const bytes = Uint8Array.from(whole.subarray(0, Math.max(0, whole.length - one.cut)));
  for (const [at, value] of one.edits) if (at < bytes.length) bytes[at] = value;
  return bytes;
}

export function isUntouched({ edits, cut }: Line): boolean {
  return edits.length === 0 && cut === 0;
}

function messageOf(one: Line, heard: Heard): ControlMessage {
  const { challenge } = heard;
  const nonce = randomOrGiven(one.bytes);
  switch (one.say) {
    case 'hello':
      return rawHello(heard.nonce);
    case 'propose':
      if (challenge !== undefined) {
        return rawPropose(transcriptOf(secret, heard.nonce, challenge), one.wish);
      }
      return { kind: ControlKind.Propose, proof: nonce, ...one.wish };
    case 'reflected propose':
      return { kind: ControlKind.Propose, proof: challenge?.proof ?? nonce, ...one.wish };
    case 'unproved propose':
      return { kind: ControlKind.Propose, proof: nonce, ...one.wish };
    case 'attach':
      return attachOf(one, heard, heard.key ?? secret);
    case 'challenge':
      return { ...rawHello(nonce), kind: ControlKind.Challenge, proof: nonce };
    case 'accept':
      return acceptOf(one, nonce);
    case 'refuse':
      return { kind: ControlKind.Refuse, code: 'ERR_WIRE_AUTH', reason: one.text };
    case 'attached':
      return { kind: ControlKind.Attached, proof: nonce };
    case 'goodbye':
    case 'garbage':
      return { kind: ControlKind.Goodbye, reason: one.text };
  }
}

function acceptOf({ wish: agreed, text }: Line, proof: Uint8Array): ControlMessage {
  return { kind: ControlKind.Accept, proof, sessionId: 7, ...agreed, addresses: [text] };
}

function attachOf(one: Line, heard: Heard, key: Uint8Array): ControlMessage {
  const attach = {
    sessionId: heard.sessionId,
    channelIndex: one.wish.channels % 3,
    epoch: one.bytes.length % 2,
    nonce: randomOrGiven(one.bytes),
  };
  return { kind: ControlKind.Attach, ...attach, proof: attachProof(key, 'attach', attach) };
}

function randomOrGiven(bytes: Uint8Array): Uint8Array {
  const out = new Uint8Array(32);
  out.set(bytes.subarray(0, 32));
  return bytes.length === 0 ? randomBytes(32) : out;
}
