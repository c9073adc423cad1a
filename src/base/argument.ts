// Arguments of programs, checked where types are not: a wrong one is named, not a TypeError from
// inside.

import { TcpxError } from './errors.js';

export function checkText(what: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value === '') throw wrong(what, 'a text', value);
}

export function checkRecord(what: string, value: unknown): asserts value is object {
  if (typeof value !== 'object' || value === null) throw wrong(what, 'an object', value);
}

function wrong(what: string, wanted: string, value: unknown): TcpxError {
  const given = value === '' ? 'an empty one' : `${typeof value} ${String(value)}`;
  return new TcpxError('ERR_USAGE_ARGUMENT', `${what} is ${wanted}, not ${given}`);
}
