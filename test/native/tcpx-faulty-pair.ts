// A pair of engines one of whose plugins has a fault, and what a transfer between them comes to.

import assert from 'node:assert/strict';
import { TcpxError } from '../../src/base/errors.js';
import { fillPattern } from '../../src/base/pattern.js';
import { makeMemory, openPair, type SideOptions, type TcpxPair, wholeBlock } from './tcpx-pair.js';

const MIB = 1024 * 1024;
/** A plugin that waits for a core beside other tests is not one that hangs. */
export const PATIENT = { 'tcpx.hangMs': 20_000 } as const;

export async function failure(promise: Promise<unknown>): Promise<TcpxError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof TcpxError, String(error));
    return error;
  }
  return assert.fail('it did not fail');
}

export function prepare(pair: TcpxPair, bytes = 16 * MIB) {
  const local = makeMemory(pair.initiator, bytes);
  const remote = makeMemory(pair.target, bytes);
  fillPattern(local.bytes, 3, 0);
  return { local, remote, blocks: wholeBlock(local, remote) };
}

/** A pair whose target's plugin has a fault. */
export function openFaulty(
  fault: string,
  side: 'target' | 'initiator' = 'target',
  settings: SideOptions['settings'] = {},
): Promise<TcpxPair> {
  const faulty = { [side]: { plugin: { TCPX_EMU_FAULT: fault } } };
  return openPair({ settings: { ...PATIENT, ...settings } }, faulty);
}
