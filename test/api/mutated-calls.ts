// Right calls with one thing wrong: an argument, or any field inside of one, replaced by whatever a
// program may hand over by mistake. What a call makes of it is its own business, as long as it is
// an answer or a typed error.

import { inspect } from 'node:util';
import { isTcpxError } from '../../src/base/errors.js';

/** A call, and arguments that are right. */
export type RightCall = readonly [
  name: string,
  call: (...given: never[]) => unknown,
  right: readonly unknown[],
];

class Foreign {
  get anything(): never {
    throw new Error('a getter of the program throws');
  }
}

/** Of no prototype: it cannot be made a text. */
const bare = Object.assign(Object.create(null) as object, { odd: 1 });
const detached = new Uint8Array(8);
structuredClone(detached.buffer, { transfer: [detached.buffer] });

const WRONG: readonly unknown[] = [
  ...[undefined, null, true, 0, 5, -1, 0.5, 2 ** 31, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY],
  ...[5n, Symbol('a symbol'), '', 'no such thing', 'a\0b', 'x'.repeat(70_000), '1.2.3.4:99999'],
  ...[{}, bare, [], [5], [undefined], () => undefined, new Foreign(), new Map()],
  ...[Promise.resolve(5), AbortSignal.abort(), Buffer.from('bytes'), new Uint8Array(0), detached],
  ...[new ArrayBuffer(8, { maxByteLength: 16 }), Object.freeze({ length: 2 ** 40 })],
];

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return Object.getPrototypeOf(value) === Object.prototype;
}

const DEPTH_MAX = 4;

/** The value with one thing replaced in it, for each thing in it. */
function* replaced(value: unknown, by: unknown, depth = 0): Generator {
  yield by;
  if (depth === DEPTH_MAX) return;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const other of replaced(item, by, depth + 1)) yield value.with(index, other);
    }
  } else if (isPlain(value)) {
    for (const [name, item] of Object.entries(value)) {
      for (const other of replaced(item, by, depth + 1)) yield { ...value, [name]: other };
    }
    yield { ...value, unknownOption: by };
  }
}

function* mutated(right: readonly unknown[]): Generator<readonly unknown[]> {
  for (let count = 0; count < right.length; count++) yield right.slice(0, count);
  for (const by of WRONG) {
    yield [...right, by];
    for (const [index, value] of right.entries()) {
      for (const other of replaced(value, by)) yield right.with(index, other);
    }
  }
}

export interface Campaign {
  readonly calls: number;
  /** Calls that ended in an error that is none of ours. */
  readonly raw: readonly string[];
}

/** Calls everything with everything; promises may go on when it is over. */
export async function tryMutations(calls: readonly RightCall[], waitMs: number): Promise<Campaign> {
  const raw: string[] = [];
  let count = 0;
  for (const [name, call, right] of calls) {
    const pending: PromiseLike<unknown>[] = [];
    for (const given of mutated(right)) {
      count++;
      const note = (error: unknown): void => {
        if (!isTcpxError(error)) raw.push(`${name}(${shown(given)}): ${shown(error)}`);
      };
      try {
        const result: unknown = (call as (...given: readonly unknown[]) => unknown)(...given);
        if (isThenable(result)) pending.push(result.then(() => undefined, note));
      } catch (error) {
        note(error);
      }
    }
    await Promise.race([
      Promise.all(pending),
      new Promise((resolve) => setTimeout(resolve, waitMs)),
    ]);
  }
  return { calls: count, raw };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== 'object' || value === null) return false;
  return typeof Reflect.get(value, 'then') === 'function';
}

function shown(value: unknown): string {
  const text = inspect(value, { depth: 3, breakLength: Number.POSITIVE_INFINITY });
  return text.split('\n').slice(0, 3).join(' ').slice(0, 300);
}
