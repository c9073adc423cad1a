// What programs without types hand over by mistake, and how an argument is tried with all of it.

import { inspect } from 'node:util';
import { isTcpxError } from '../../src/base/errors.js';

const VALUES = {
  undefined: undefined,
  null: null,
  number: 5,
  fraction: 0.5,
  negative: -1,
  nan: Number.NaN,
  bigint: 5n,
  text: 'no such thing',
  empty: '',
  boolean: true,
  symbol: Symbol('a symbol'),
  object: {},
  // Of no prototype: it cannot be made a text.
  bare: Object.assign(Object.create(null) as object, { odd: 1 }),
  array: [],
  list: [5],
  function: () => undefined,
} as const;

export type Kind = keyof typeof VALUES;

/**
 * One argument, or one field of an argument: what is right there beside a right value (and not
 * tried), and the call with a value in its place.
 */
export type Case = readonly [what: string, right: readonly Kind[], call: (given: never) => unknown];

type Methods<T> = Extract<
  { [K in keyof T]: T[K] extends (...given: never[]) => unknown ? K : never }[keyof T],
  string
>;

/** Every method has an entry, an empty one where it takes nothing: the compiler sees to it. */
export type Calls<T> = Readonly<Record<Methods<T>, readonly Case[]>>;

const ABSENT: readonly Kind[] = ['undefined'];
const TEXT: readonly Kind[] = ['text'];
const RECORD: readonly Kind[] = [...ABSENT, 'object'];
export const RIGHT = {
  nothing: [],
  text: TEXT,
  anyText: [...TEXT, 'empty'],
  optionalText: [...ABSENT, ...TEXT],
  options: RECORD,
  // An unknown one is ERR_CONFIG_UNKNOWN.
  settings: [...RECORD, 'bare'],
  record: ['object'],
  timeOrOptions: [...RECORD, 'number', 'fraction'],
  optionalTime: [...ABSENT, 'number', 'fraction'],
  optional: ABSENT,
  optionalFlag: [...ABSENT, 'boolean'],
  optionalCount: [...ABSENT, 'number'],
  optionalList: [...ABSENT, 'array'],
} as const satisfies Record<string, readonly Kind[]>;

const WAIT_MS = 300;

/** What is wrong with how the call takes wrong values, in lines. */
export async function faultsOf(name: string, [what, right, call]: Case): Promise<string[]> {
  const faults: string[] = [];
  const kinds = Object.keys(VALUES) as Kind[];
  for (const kind of kinds.filter((one) => !right.includes(one))) {
    const fault = await outcomeOf(() => (call as (given: unknown) => unknown)(VALUES[kind]));
    if (fault !== undefined) faults.push(`${name}: ${what} = ${kind}: ${fault}`);
  }
  return faults;
}

async function outcomeOf(call: () => unknown): Promise<string | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('still waiting'), WAIT_MS);
  });
  try {
    const taken = await Promise.race([Promise.resolve(call()).then(shown), late]);
    return `taken: ${taken}`;
  } catch (error) {
    if (isTcpxError(error, 'ERR_USAGE_ARGUMENT')) return undefined;
    return isTcpxError(error) ? `${error.code}: ${error.message}` : `raw ${shown(error)}`;
  } finally {
    clearTimeout(timer);
  }
}

function shown(value: unknown): string {
  return inspect(value, { depth: 0 }).split('\n').slice(0, 3).join(' ');
}
