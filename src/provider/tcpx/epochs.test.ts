// What a server asks of its client when channels are down, in the moment between two epochs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../base/config.js';
import { TcpxError } from '../../base/errors.js';
import { silentLog } from '../../base/log.js';
import { Epochs } from './epochs.js';
import type { EpochsParts } from './epochs-parts.js';
import type { MatchConnection } from './match-connection.js';

const STREAM: MatchConnection = {
  isOpen: true,
  send: () => undefined,
  poll: () => undefined,
  close: () => undefined,
};

/** A server whose plugin never answers and whose clock stands still. */
function openServer(asked: number[]): Epochs {
  const parts: EpochsParts = {
    peer: 'client',
    log: silentLog,
    values: loadConfig({ environment: {} }).values,
    ownPlugin: () => assert.fail('no channel is open'),
    nics: () => [],
    openSet: () => new Promise(() => undefined),
    connect: undefined,
    askAgain: (epoch) => asked.push(epoch),
    onFrame: () => assert.fail('no frame has come'),
    onDown: () => false,
    onViolation: (error) => assert.fail(error),
    after: () => () => undefined,
  };
  return new Epochs(parts);
}

test('epochs: what a peer is asked to follow is down, not the epoch that it sets up', async () => {
  const asked: number[] = [];
  const server = openServer(asked);
  await server.makeRoom(1);
  server.accept(1, () => STREAM);
  server.takeDown(new TcpxError('ERR_PEER_LOST', 'gone'));
  const room = server.makeRoom(2);
  const ready = assert.rejects(server.ready(), /session closed/);
  await room;
  assert.deepEqual(asked, [1]);
  await server.close();
  await ready;
});

test('epochs: an epoch that was seen is not set up again', async () => {
  const server = openServer([]);
  await server.makeRoom(2);
  for (const epoch of [1, 2]) {
    await assert.rejects(server.makeRoom(epoch), /match epoch \d is not due/);
  }
  await server.close();
});
