// A block of memory that threads share, as a table of its fields: where each lies, who writes it,
// what it means. Offsets are checked when the table is declared; indexes and docs come from it.

import { assert } from './assert.js';

export interface SharedField {
  readonly type: 'int32' | 'float64' | 'uint64' | 'uint8';
  /** In bytes from the start of the block. */
  readonly offset: number;
  /** How many of the type lie there; one unless it says so. */
  readonly count?: number;
  readonly writer: string;
  readonly meaning: string;
}

export interface SharedBlock<Name extends string = string> {
  readonly title: string;
  readonly bytes: number;
  readonly fields: Readonly<Record<Name, SharedField>>;
}

export interface BlockTerms {
  readonly title: string;
  readonly bytes: number;
  /** Words of different writers lie on lines of their own. */
  readonly isSpread?: boolean;
}

/** So far apart that no cache line, nor the one that is fetched along with it, has both. */
const SPREAD_BYTES = 128;

const FIELD_BYTES = { uint8: 1, int32: 4, float64: 8, uint64: 8 } as const;

/** Fields in the order of their offsets. */
export function declareBlock<Name extends string>(
  { title, bytes, isSpread = false }: BlockTerms,
  fields: Readonly<Record<Name, SharedField>>,
): SharedBlock<Name> {
  let end = 0;
  let writer = '';
  for (const [name, field] of Object.entries<SharedField>(fields)) {
    const where = `${title}: ${name}`;
    assert(field.offset % FIELD_BYTES[field.type] === 0, `${where} is aligned`);
    assert(field.offset >= end, `${where} lies behind the field before it`);
    const isOther = isSpread && writer !== '' && writer !== field.writer;
    assert(!isOther || field.offset >= lineEnd(end), `${where} shares no line with ${writer}`);
    end = field.offset + fieldBytes(field);
    writer = field.writer;
  }
  assert(end <= bytes, `${title}: its fields fit into ${bytes} bytes`);
  return { title, bytes, fields };
}

export function fieldBytes({ type, count = 1 }: SharedField): number {
  return FIELD_BYTES[type] * count;
}

/** Position of a field in a view of its type over the block. */
export function fieldIndex<Name extends string>(block: SharedBlock<Name>, name: Name): number {
  const { offset, type } = block.fields[name];
  return offset / FIELD_BYTES[type];
}

function lineEnd(end: number): number {
  return Math.ceil(end / SPREAD_BYTES) * SPREAD_BYTES;
}
