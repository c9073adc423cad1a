import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CODES, type ErrorCode, TcpxError } from '../base/errors.js';
import {
  errorOfStatus,
  isNixlStatus,
  NixlStatus,
  nixlStatusName,
  nixlStatusOf,
  STATUS_OF_CODE,
} from './status.js';

test('status: numbers are NIXL’s, from 1 down to −12 without a gap', () => {
  const numbers = Object.values(NixlStatus).toSorted((a, b) => b - a);
  assert.deepEqual(numbers, [1, 0, -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12]);
  assert.equal(nixlStatusName(-10), 'NIXL_ERR_REMOTE_DISCONNECT');
  assert.match(nixlStatusName(-99), /unknown/);
});

test('status: every error code maps to a negative status of the table', () => {
  for (const code of Object.keys(ERROR_CODES) as ErrorCode[]) {
    const status = STATUS_OF_CODE[code];
    assert.ok(isNixlStatus(status) && status < 0, code);
    assert.equal(nixlStatusOf(new TcpxError(code, 'x')), status);
  }
  assert.equal(nixlStatusOf(new Error('foreign')), NixlStatus.ERR_UNKNOWN);
});

test('status: a status turned into an error maps back to itself where a code exists', () => {
  const lossless = [-2, -3, -4, -6, -9, -10, -11, -12] as const;
  for (const status of lossless) {
    assert.equal(nixlStatusOf(errorOfStatus(status, 'post')), status, nixlStatusName(status));
  }
});

test('status: a failed transfer has the number of its cause', () => {
  const cause = new TcpxError('ERR_PEER_LOST', 'gone');
  const failed = new TcpxError('ERR_XFER_FAILED', 'x', { cause });
  assert.equal(nixlStatusOf(failed), NixlStatus.ERR_REMOTE_DISCONNECT);
  for (const code of ['ERR_PEER_GOODBYE', 'ERR_PEER_STALE_SESSION', 'ERR_PEER_TIMEOUT'] as const) {
    const ended = new TcpxError('ERR_XFER_FAILED', 'x', { cause: new TcpxError(code, 'y') });
    assert.equal(nixlStatusOf(ended), NixlStatus.ERR_REMOTE_DISCONNECT, code);
  }
  const foreign = new TcpxError('ERR_XFER_FAILED', 'x', { cause: new Error('y') });
  assert.equal(nixlStatusOf(foreign), NixlStatus.ERR_BACKEND);
});
