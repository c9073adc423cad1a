import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withCode } from '../../test/support/expect-error.js';
import { AssertionFailure } from '../base/assert.js';
import { isTcpxError, TcpxError } from '../base/errors.js';
import {
  CONTROL_INDEX,
  ControlKind,
  type ControlMessage,
  MATCH_INDEX,
} from '../wire/control-frame.js';
import { attachOutcome, ClientAttach, ServerAttach, toldError } from './attaching.js';

const KEY = new Uint8Array(32).fill(5);
const name = (channelIndex: number) => ({
  sessionId: 9,
  channelIndex,
  epoch: 3,
  nonce: new Uint8Array(32).fill(1),
});

function attachOf(machine: ClientAttach) {
  const [message] = machine.start(0).send;
  assert.ok(message?.kind === ControlKind.Attach);
  return message;
}

function refusalOf(act: () => void): TcpxError {
  try {
    act();
  } catch (error) {
    if (isTcpxError(error)) return error;
    throw error;
  }
  throw new Error('not refused');
}

test('attach: any index joins with the key of the session, and each end knows the other', () => {
  for (const index of [0, 15, MATCH_INDEX, CONTROL_INDEX]) {
    for (const role of ['attached', 'shared'] as const) {
      const client = new ClientAttach('there', KEY, name(index), 100);
      const server = new ServerAttach('here', attachOf(client));
      server.prove(KEY);
      const { next } = client.onMessage(server.admit(role), 1);
      assert.deepEqual(next, { kind: 'done', result: { isShared: role === 'shared' } });
    }
  }
});

test('attach: a stranger is told the same of a session that lives and of one that does not', () => {
  const attach = attachOf(new ClientAttach('there', new Uint8Array(32), name(0), 100));
  const living = refusalOf(() => new ServerAttach('here', attach).prove(KEY));
  const dead = refusalOf(() => new ServerAttach('here', attach).prove(undefined));
  assert.deepEqual([living.code, dead.code], ['ERR_WIRE_AUTH', 'ERR_PEER_STALE_SESSION']);
  const [told, toldDead] = [toldError(living), toldError(dead)];
  assert.deepEqual([told.code, told.message], [toldDead.code, toldDead.message]);
  assert.equal(told.code, 'ERR_PEER_STALE_SESSION');
});

test('attach: what is proved covers session, index, epoch and nonce', () => {
  const attach = attachOf(new ClientAttach('there', KEY, name(1), 100));
  const changes: Partial<typeof attach>[] = [
    { sessionId: 8 },
    { channelIndex: 2 },
    { epoch: 4 },
    { nonce: new Uint8Array(32) },
    { proof: new Uint8Array(32) },
  ];
  for (const change of changes) {
    const server = new ServerAttach('here', { ...attach, ...change });
    assert.throws(() => server.prove(KEY), withCode('ERR_WIRE_AUTH'), JSON.stringify(change));
  }
});

test('attach: a server that does not know the key is no server of the session', () => {
  const client = new ClientAttach('there', KEY, name(0), 100);
  attachOf(client);
  const { next } = client.onMessage({ kind: ControlKind.Attached, proof: KEY }, 0);
  assert.ok(next.kind === 'failed');
  assert.ok(withCode('ERR_WIRE_AUTH', /there: the server does not know the session/)(next.error));
});

test('attach: nobody is admitted unproved, nor twice', () => {
  const attach = attachOf(new ClientAttach('there', KEY, name(0), 100));
  const server = new ServerAttach('here', attach);
  assert.throws(() => server.admit(), AssertionFailure);
  server.prove(KEY);
  server.admit();
  assert.throws(() => server.admit(), AssertionFailure);
});

test('attach: recovery learns whether to try again', () => {
  const refusal = (code: string): TcpxError => {
    const client = new ClientAttach('there', KEY, name(0), 100);
    attachOf(client);
    const refuse: ControlMessage = { kind: ControlKind.Refuse, code, reason: '' };
    const { next } = client.onMessage(refuse, 0);
    assert.ok(next.kind === 'failed');
    return next.error;
  };
  assert.equal(attachOutcome(refusal('ERR_PEER_STALE_SESSION')), 'unknown');
  assert.equal(attachOutcome(refusal('ERR_WIRE_STATE')), 'failed');
  const facts = { isRefused: true };
  assert.equal(attachOutcome(new TcpxError('ERR_PEER_UNREACHABLE', '', { facts })), 'refused');
});
