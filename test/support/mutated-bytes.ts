// Hostile inputs near good ones: a decoder gets past its first comparison only with those.

import fc from 'fast-check';

const WORDS = [0, 1, 2, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff, 0x80000000];
const word = fc.oneof(fc.constantFrom(...WORDS, 0xffffffff), fc.nat({ max: 0xffffffff }));

type Change =
  | { readonly kind: 'byte'; readonly at: number; readonly value: number }
  | { readonly kind: 'word'; readonly at: number; readonly value: number }
  | { readonly kind: 'cut'; readonly at: number }
  | { readonly kind: 'insert' | 'repeat'; readonly at: number; readonly value: number };

const at = fc.nat({ max: 0xffff });
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ kind: fc.constant('byte' as const), at, value: fc.nat({ max: 255 }) }),
  fc.record({ kind: fc.constant('word' as const), at, value: word }),
  fc.record({ kind: fc.constant('cut' as const), at }),
  fc.record({ kind: fc.constantFrom('insert', 'repeat'), at, value: fc.nat({ max: 40 }) }),
);

/** Random bytes, good examples, and examples with up to four changes. */
export function mutatedBytes(examples: readonly Uint8Array[]): fc.Arbitrary<Uint8Array> {
  const example = fc.constantFrom(...examples);
  const changed = fc
    .tuple(example, fc.array(change, { maxLength: 4 }))
    .map(([bytes, changes]) => changes.reduce(applyChange, Uint8Array.from(bytes)));
  return fc.oneof(
    { arbitrary: changed, weight: 6 },
    { arbitrary: fc.uint8Array({ maxLength: 300 }), weight: 1 },
    { arbitrary: fc.tuple(changed, changed).map(([a, b]) => join(a, b)), weight: 1 },
  );
}

/** The same with texts of one byte per character. */
export function mutatedText(examples: readonly string[]): fc.Arbitrary<string> {
  const bytes = examples.map((example) => Buffer.from(example, 'utf8'));
  return fc.oneof(
    { arbitrary: mutatedBytes(bytes).map((value) => Buffer.from(value).toString()), weight: 4 },
    { arbitrary: fc.string({ maxLength: 200, unit: 'binary' }), weight: 1 },
  );
}

function applyChange(bytes: Uint8Array, edit: Change): Uint8Array {
  const place = bytes.length === 0 ? 0 : edit.at % (bytes.length + 1);
  switch (edit.kind) {
    case 'byte':
      bytes[place] = edit.value;
      return bytes;
    case 'word':
      if (place + 4 <= bytes.length) new DataView(bytes.buffer).setUint32(place, edit.value, true);
      return bytes;
    case 'cut':
      return bytes.slice(0, place);
    case 'insert':
      return join(bytes.subarray(0, place), new Uint8Array(edit.value), bytes.subarray(place));
    case 'repeat':
      return join(bytes.subarray(0, place + edit.value), bytes.subarray(place));
  }
}

function join(...parts: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(Buffer.concat(parts));
}
