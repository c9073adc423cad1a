import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ERROR_CLASSES, errorClassName } from './error-class.js';
import { ERROR_CODES, type ErrorCode, isTcpxError, TcpxError, toTcpxError } from './errors.js';

const CODES = Object.keys(ERROR_CODES) as ErrorCode[];

test('errors: each code belongs to exactly one class and has meaning and remedy', () => {
  for (const code of CODES) {
    const prefixes = Object.keys(ERROR_CLASSES).filter((prefix) => code.startsWith(prefix));
    assert.equal(prefixes.length, 1, code);
    assert.notEqual(ERROR_CODES[code].meaning, '', code);
    assert.match(ERROR_CODES[code].remedy, /\.$/, `${code}: the remedy is no sentence`);
  }
});

test('errors: each class has a name of its own', () => {
  const names = Object.keys(ERROR_CLASSES).map(errorClassName);
  assert.ok(!names.includes('TcpxError'), names.join(' '));
  assert.equal(errorClassName('ERR_NEVER_HEARD'), 'TcpxError');
});

test('errors: an error carries code, class name, facts, cause and whether to retry', () => {
  const cause = new Error('ECONNRESET');
  const error = new TcpxError('ERR_PEER_LOST', 'lost', { facts: { peer: 'b' }, cause });
  assert.equal(error.name, 'PeerError');
  assert.equal(error.code, 'ERR_PEER_LOST');
  assert.deepEqual(error.facts, { peer: 'b' });
  assert.equal(error.cause, cause);
  assert.equal(error.isRetryable, true);
  assert.ok(error instanceof Error);
});

test('errors: without options there are no facts and no cause', () => {
  const error = new TcpxError('ERR_USAGE_STATE', 'closed');
  assert.deepEqual(error.facts, {});
  assert.equal('cause' in error, false);
  assert.equal(error.isRetryable, false);
});

test('errors: isTcpxError tells our errors and their code', () => {
  const error = new TcpxError('ERR_WIRE_MAGIC', 'x');
  assert.equal(isTcpxError(error), true);
  assert.equal(isTcpxError(error, 'ERR_WIRE_MAGIC'), true);
  assert.equal(isTcpxError(error, 'ERR_WIRE_FRAME'), false);
  assert.equal(isTcpxError(new Error('ERR_WIRE_MAGIC')), false);
  assert.equal(isTcpxError(undefined), false);
});

test('errors: toTcpxError passes ours on and wraps others with what was attempted', () => {
  const ours = new TcpxError('ERR_WIRE_MAGIC', 'x');
  assert.equal(toTcpxError(ours, 'ERR_SYS_CALL', 'open /x'), ours);
  const cause = new Error('EACCES');
  const wrapped = toTcpxError(cause, 'ERR_SYS_CALL', 'open /x');
  assert.equal(wrapped.code, 'ERR_SYS_CALL');
  assert.equal(wrapped.cause, cause);
  assert.match(wrapped.message, /open \/x.*EACCES/);
  assert.match(toTcpxError('text', 'ERR_SYS_CALL', 'open /x').message, /text/);
});

test('errors: the JSON of one has its message; a code that does not exist is refused', () => {
  const behind = new TcpxError('ERR_PEER_LOST', 'gone');
  const error = new TcpxError('ERR_XFER_FAILED', 'write', { cause: behind, facts: { bytes: 8 } });
  const json = JSON.parse(JSON.stringify(error)) as Record<string, unknown>;
  assert.deepEqual(
    [json['code'], json['message'], json['isRetryable']],
    [error.code, 'write', true],
  );
  assert.deepEqual(json['facts'], { bytes: 8 });
  assert.equal((json['cause'] as Record<string, unknown>)['message'], 'gone');
  const unknown = 'ERR_NEVER_HEARD' as ErrorCode;
  assert.throws(
    () => new TcpxError(unknown, ''),
    (thrown) => isTcpxError(thrown, 'ERR_USAGE_ARGUMENT'),
  );
});
