// Result codes of the net interface, by name, and the error made of one.

import { TcpxError } from '../../base/errors.js';

export const NET_SYSTEM_ERROR = 2;

const NAMES: readonly string[] = [
  'success',
  'unhandled CUDA error',
  'system error',
  'internal error',
  'invalid argument',
  'invalid usage',
  'remote error',
  'in progress',
];

export function netResultName(result: number): string {
  return NAMES[result] ?? `result ${result}`;
}

export function netCallError(call: string, object: string, result: number): TcpxError {
  const where = object === '' ? call : `${call} ${object}`;
  return new TcpxError(
    'ERR_NCCLNET_CALL',
    `plugin ${where}: ${netResultName(result)} (${result})`,
    { facts: { call, object, result, resultName: netResultName(result) } },
  );
}
