// What a control stream keeps for a peer that takes nothing is bounded.

import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { withCode } from '../../../test/support/expect-error.js';
import { MESSAGE_BYTES_MAX } from './control-message.js';
import { ControlStream } from './control-stream.js';

/** Takes everything, passes nothing on. */
class StuckSocket extends EventEmitter {
  writableLength = 0;

  setNoDelay(): void {
    // No packets.
  }

  setKeepAlive(): void {
    // No packets.
  }

  write(bytes: Uint8Array): void {
    this.writableLength += bytes.length;
  }
}

test('control stream: a peer that takes nothing is given up before it fills the memory', () => {
  const socket = new StuckSocket();
  const stream = new ControlStream(socket as unknown as Socket, new Uint8Array(32), {
    onProved: () => assert.fail('nothing came'),
    onMessage: () => assert.fail('nothing came'),
    onEnd: () => assert.fail('it is for the sender to end it'),
  });
  const message = { kind: 'go', epoch: 1, transfer: 1, op: 'write' } as const;
  socket.writableLength = 16 * MESSAGE_BYTES_MAX;
  stream.send(message);
  assert.throws(() => stream.send(message), withCode('ERR_WIRE_LIMIT'));
});
