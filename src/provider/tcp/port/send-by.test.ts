// Sends by reference against the real kernel. Over loopback MSG_ZEROCOPY is copied in the end, and
// says so; spliced pages are not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openLoopbackPair } from '../../../../test/support/loopback-pair.js';
import { fillPattern, findMismatch } from '../../../base/pattern.js';
import { ZERO_COPY_COUNTERS } from '../../../base/shared-layout.js';
import { ECONNRESET } from '../../../ffi/libc/errno.js';
import { closeFd } from '../../../ffi/libc/file-descriptor.js';
import { renewPages } from '../../../ffi/libc/mapping.js';
import {
  SO_RCVBUF,
  SO_SNDBUF,
  SO_ZEROCOPY,
  SOL_SOCKET,
  setSocketNumber,
} from '../../../ffi/libc/socket.js';
import { createFixedMemory, destroyFixedMemory } from '../../../os/fixed-memory.js';
import { type SendBy, WOULD_BLOCK } from './stream-port.js';
import { TcpPort } from './tcp-port.js';

const HEAD_BYTES = 64;
const PAYLOAD_BYTES = 100_000;
const FRAMES = 12;
const FRAME_BYTES = HEAD_BYTES + PAYLOAD_BYTES;
const TOTAL_BYTES = FRAMES * FRAME_BYTES;
const RECEIVE_BUFFER_BYTES = 256 * 1024;

class Scene {
  readonly sendCounters = new Float64Array(ZERO_COPY_COUNTERS);
  readonly heads = createFixedMemory(FRAMES * HEAD_BYTES);
  readonly payload = createFixedMemory(FRAMES * PAYLOAD_BYTES);
  readonly target = createFixedMemory(TOTAL_BYTES);
  readonly sender: TcpPort;
  readonly receiver: TcpPort;
  gotBytes = 0;

  constructor(sendBy: SendBy, sendBufferBytes: number) {
    const pair = openLoopbackPair();
    if (sendBy === 'zerocopy') setSocketNumber(pair.clientFd, SOL_SOCKET, SO_ZEROCOPY, 1);
    if (sendBufferBytes > 0) setSocketNumber(pair.clientFd, SOL_SOCKET, SO_SNDBUF, sendBufferBytes);
    // Otherwise it takes in all of it at once, and nobody ever waits.
    setSocketNumber(pair.serverFd, SOL_SOCKET, SO_RCVBUF, RECEIVE_BUFFER_BYTES);
    this.sender = new TcpPort(pair.clientFd, sendBy, this.sendCounters, 1);
    this.receiver = new TcpPort(pair.serverFd, 'copy', new Float64Array(ZERO_COPY_COUNTERS), 1);
    fillPattern(this.heads.uint8, 1);
    fillPattern(this.payload.uint8, 2);
  }

  /** Head, payload, head, payload … as a lane gathers them; returns the entries. */
  gather(): number {
    for (let frame = 0; frame < FRAMES; frame++) {
      this.sender.setSend(2 * frame, this.heads.addr + frame * HEAD_BYTES, HEAD_BYTES);
      this.sender.setSend(2 * frame + 1, this.payload.addr + frame * PAYLOAD_BYTES, PAYLOAD_BYTES);
    }
    return 2 * FRAMES;
  }

  receiveSome(): void {
    const left = TOTAL_BYTES - this.gotBytes;
    this.receiver.setReceive(0, this.target.addr + this.gotBytes, left);
    const received = this.receiver.receive(1);
    if (received > 0) this.gotBytes += received;
    else assert.equal(received, WOULD_BLOCK);
  }

  assertArrived(): void {
    for (let frame = 0; frame < FRAMES; frame++) {
      const at = frame * FRAME_BYTES;
      const head = this.target.uint8.subarray(at, at + HEAD_BYTES);
      const payload = this.target.uint8.subarray(at + HEAD_BYTES, at + FRAME_BYTES);
      assert.equal(findMismatch(head, 1, frame * HEAD_BYTES), -1, `head ${frame}`);
      assert.equal(findMismatch(payload, 2, frame * PAYLOAD_BYTES), -1, `payload ${frame}`);
    }
  }

  /** A vector of a head alone: the port takes the reports that have come. */
  sendHeadAlone(): void {
    this.sender.setSend(0, this.heads.addr, HEAD_BYTES);
    assert.equal(this.sender.send(0, 1, true), HEAD_BYTES);
  }

  destroy(): void {
    this.sender.close(false);
    this.receiver.close(false);
    for (const memory of [this.heads, this.payload, this.target]) destroyFixedMemory(memory);
  }
}

for (const [sendBy, name, bufferBytes] of [
  ['zerocopy', 'automatic', 0],
  ['zerocopy', '4 KiB', 4096],
  ['splice', 'automatic', 0],
  ['splice', '4 KiB', 4096],
] as const) {
  test(`${sendBy}: heads and payload arrive in order, send buffer ${name}`, () => {
    const scene = new Scene(sendBy, bufferBytes);
    const count = scene.gather();
    let first = 0;
    let partial = 0;
    let blocked = 0;
    for (let sentBytes = 0; sentBytes < TOTAL_BYTES; ) {
      const sent = scene.sender.send(first, count, true);
      if (sent > 0) {
        sentBytes += sent;
        first = scene.sender.advanceSend(first, sent);
        if (sentBytes < TOTAL_BYTES) partial++;
        // Their memory is the sender's again at once: whatever is written now must not go out.
        scene.heads.uint8.fill(0xee, 0, Math.ceil(first / 2) * HEAD_BYTES);
        continue;
      }
      assert.equal(sent, WOULD_BLOCK);
      blocked++;
      scene.receiveSome();
    }
    while (scene.gotBytes < TOTAL_BYTES) scene.receiveSome();
    scene.assertArrived();
    if (bufferBytes > 0) assert.ok(partial > 2 && blocked > 2, `${partial} partial, ${blocked}`);
    assert.equal(findMismatch(scene.payload.uint8, 2), -1, 'the source is untouched');
    scene.sendHeadAlone();
    const [sends, zeroCopied, copied, fallbacks] = scene.sendCounters;
    assert.ok(Number(sends) >= FRAMES, `${sends} sends by reference`);
    const seen = [zeroCopied, copied, fallbacks];
    if (sendBy === 'splice') assert.deepEqual(seen, [sends, 0, 0]);
    else assert.deepEqual(seen, [0, sends, 0], 'loopback copies all');
    scene.destroy();
  });
}

test('splice: a range longer than the pipe arrives whole', () => {
  const scene = new Scene('splice', 0);
  const bytes = FRAMES * PAYLOAD_BYTES;
  assert.ok(bytes > 1024 * 1024);
  scene.sender.setSend(0, scene.payload.addr, bytes);
  let first = 0;
  for (let sentBytes = 0; sentBytes < bytes; ) {
    const sent = scene.sender.send(first, 1, true);
    if (sent > 0) {
      sentBytes += sent;
      first = scene.sender.advanceSend(first, sent);
    }
    scene.receiveSome();
  }
  while (scene.gotBytes < bytes) scene.receiveSome();
  assert.equal(findMismatch(scene.target.uint8.subarray(0, bytes), 2), -1);
  scene.destroy();
});

test('splice: entries without bytes are passed over', () => {
  const scene = new Scene('splice', 0);
  const bytes = 2 * PAYLOAD_BYTES;
  scene.sender.setSend(0, scene.payload.addr, PAYLOAD_BYTES);
  scene.sender.setSend(1, scene.payload.addr, 0);
  scene.sender.setSend(2, scene.payload.addr + PAYLOAD_BYTES, PAYLOAD_BYTES);
  scene.sender.setSend(3, scene.payload.addr, 0);
  assert.equal(scene.sender.send(0, 4, true), bytes);
  while (scene.gotBytes < bytes) scene.receiveSome();
  assert.equal(findMismatch(scene.target.uint8.subarray(0, bytes), 2), -1);
  scene.destroy();
});

test('splice: what is sent is what the pages hold when the peer takes them', () => {
  const scene = new Scene('splice', 0);
  scene.sender.setSend(0, scene.payload.addr, PAYLOAD_BYTES);
  assert.equal(scene.sender.send(0, 1, true), PAYLOAD_BYTES);
  scene.payload.uint8.fill(0xee, 0, PAYLOAD_BYTES);
  while (scene.gotBytes < PAYLOAD_BYTES) scene.receiveSome();
  assert.ok(scene.target.uint8.subarray(0, PAYLOAD_BYTES).every((byte) => byte === 0xee));
  scene.destroy();
});

test('splice: pages that were replaced under their range arrive as they were sent', () => {
  const scene = new Scene('splice', 0);
  scene.sender.setSend(0, scene.payload.addr, PAYLOAD_BYTES);
  assert.equal(scene.sender.send(0, 1, true), PAYLOAD_BYTES);
  const { addr, bytes } = scene.payload;
  renewPages({ addr, bytes });
  scene.payload.uint8.fill(0xee);
  while (scene.gotBytes < PAYLOAD_BYTES) scene.receiveSome();
  assert.equal(findMismatch(scene.target.uint8.subarray(0, PAYLOAD_BYTES), 2), -1);
  scene.destroy();
});

for (const sendBy of ['zerocopy', 'splice'] as const) {
  test(`${sendBy}: ranges that are not held are never sent by reference`, () => {
    const scene = new Scene(sendBy, 0);
    const count = scene.gather();
    let first = 0;
    for (let sentBytes = 0; sentBytes < TOTAL_BYTES; ) {
      const sent = scene.sender.send(first, count, false);
      if (sent > 0) {
        sentBytes += sent;
        first = scene.sender.advanceSend(first, sent);
        scene.payload.uint8.fill(0xee, 0, Math.floor(first / 2) * PAYLOAD_BYTES);
      } else scene.receiveSome();
    }
    while (scene.gotBytes < TOTAL_BYTES) scene.receiveSome();
    scene.assertArrived();
    assert.deepEqual([...scene.sendCounters], [0, 0, 0, 0]);
    scene.destroy();
  });

  test(`${sendBy}: a port closed before the peer has all drops the rest and resets`, () => {
    const scene = new Scene(sendBy, 0);
    // The peer does not read: what is queued stays where the sender's memory is.
    const count = scene.gather();
    let first = 0;
    for (let sent = 1; sent > 0; first = scene.sender.advanceSend(first, Math.max(sent, 0))) {
      sent = scene.sender.send(first, count, true);
    }
    const [sends = 0, zeroCopied = 0, copied = 0] = scene.sendCounters;
    if (sendBy === 'zerocopy') assert.ok(sends > zeroCopied + copied, 'some are not reported on');
    scene.sender.close(false);
    let received = 1;
    while (received > 0) {
      scene.receiver.setReceive(0, scene.target.addr, TOTAL_BYTES);
      received = scene.receiver.receive(1);
    }
    assert.equal(received, -ECONNRESET);
    closeFd(scene.receiver.fd);
  });
}

test('splice: a port closed when the peer has all closes in order', () => {
  const scene = new Scene('splice', 0);
  scene.sender.setSend(0, scene.payload.addr, PAYLOAD_BYTES);
  assert.equal(scene.sender.send(0, 1, true), PAYLOAD_BYTES);
  while (scene.gotBytes < PAYLOAD_BYTES) scene.receiveSome();
  scene.sender.close(false);
  scene.receiver.setReceive(0, scene.target.addr, TOTAL_BYTES);
  assert.equal(scene.receiver.receive(1), 0);
  closeFd(scene.receiver.fd);
});
