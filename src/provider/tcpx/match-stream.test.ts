// A match connection over real sockets: frames whole and in order, by the event loop and by polls,
// and bounds for peers that send garbage or take nothing.

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { withCode } from '../../../test/support/expect-error.js';
import { openLoopbackPair } from '../../../test/support/loopback-pair.js';
import { until } from '../../../test/support/until.js';
import { sleepMs } from '../../base/clock.js';
import { TcpxError } from '../../base/errors.js';
import { closeFd } from '../../ffi/libc/file-descriptor.js';
import { getSocketNumber, IPPROTO_TCP, TCP_NODELAY } from '../../ffi/libc/socket.js';
import { encodeMatch, MatchKind } from '../../wire/match-frame.js';
import { FrameAssembly } from './frame-assembly.js';
import type { MatchHandler } from './match-connection.js';
import { type MatchSocketEvents, WatchedSocket } from './match-socket.js';
import { MatchStream, type StreamWatch } from './match-stream.js';

const WAITING_BYTES_MAX = 64 * 1024 * 1024;

interface Seen {
  readonly frames: { kind: number; transfer: number; bytes: number }[];
  readonly ends: TcpxError[];
}

function open(fd: number, watcher?: StreamWatch): Seen & { stream: MatchStream } {
  const frames: Seen['frames'] = [];
  const ends: TcpxError[] = [];
  const handler: MatchHandler = {
    onFrame: ({ kind, transfer, body }) => frames.push({ kind, transfer, bytes: body.length }),
    onEnd: (error) => ends.push(error),
  };
  const socket = (events: MatchSocketEvents) => new WatchedSocket(fd, 10_000, events);
  const stream = new MatchStream(socket, handler, WAITING_BYTES_MAX, watcher);
  return { stream, frames, ends };
}

test('match stream: frames come in order, by the event loop or a poll, each once', async () => {
  const pair = openLoopbackPair();
  const [one, other] = [open(pair.clientFd), open(pair.serverFd)];
  for (let transfer = 0; transfer < 100; transfer++) {
    const body = new Uint8Array(transfer % 3 === 0 ? 200_000 : 0);
    const kind = transfer % 3 === 0 ? MatchKind.Plan : MatchKind.Landed;
    one.stream.send(encodeMatch({ kind, transfer }, body));
    if (transfer % 2 === 0) other.stream.poll();
    else await sleepMs(0);
  }
  await until('100 frames', 5000, () => other.frames.length === 100);
  assert.deepEqual(
    other.frames.map(({ transfer }) => transfer),
    Array.from({ length: 100 }, (_, index) => index),
  );
  one.stream.close();
  await until('the end', 5000, () => other.ends.length === 1);
  assert.equal(other.ends[0]?.code, 'ERR_PEER_LOST');
  assert.equal(one.ends.length, 0, 'whoever closes hears nothing');
});

// Node closes the descriptor in one phase of its event loop, and tells in a later one.
test('match stream: a socket that Node has closed is left alone until that is told', async () => {
  let seenBetween = 0;
  for (let round = 0; round < 20; round++) {
    const pair = openLoopbackPair();
    const watched: number[] = [];
    const watcher = { add: (fd: number) => watched.push(fd), drop: () => undefined };
    const { stream, ends } = open(pair.clientFd, watcher);
    closeFd(pair.serverFd);
    const place = `/proc/self/fd/${pair.clientFd}`;
    while (ends.length === 0 && existsSync(place)) await setImmediate();
    if (ends.length > 0) continue;
    seenBetween++;
    stream.watch();
    assert.deepEqual(watched, []);
    if (round % 2 === 0) stream.poll();
    else stream.send(encodeMatch({ kind: MatchKind.Landed, transfer: 1 }));
    assert.equal(ends.length, 1);
    assert.match(ends[0]?.message ?? '', /^(the peer closed it|EPIPE)$/);
  }
  assert.ok(seenBetween > 0, 'no round came between closing and telling');
});

test('match stream: a thread that does not return to its event loop polls', () => {
  const pair = openLoopbackPair();
  const [one, other] = [open(pair.clientFd), open(pair.serverFd)];
  const large = encodeMatch({ kind: MatchKind.Plan }, new Uint8Array(8 * 1024 * 1024));
  one.stream.send(large);
  for (let round = 0; round < 10_000 && other.frames.length === 0; round++) {
    other.stream.poll();
    one.stream.poll();
  }
  assert.equal(other.frames[0]?.bytes, 8 * 1024 * 1024);
  one.stream.close();
  other.stream.close();
});

test('match stream: a frame is not held back until the one before is acknowledged', () => {
  const pair = openLoopbackPair();
  const { stream } = open(pair.clientFd);
  assert.equal(getSocketNumber(pair.clientFd, IPPROTO_TCP, TCP_NODELAY), 1);
  stream.close();
  closeFd(pair.serverFd);
});

test('match stream: garbage ends it with the rule, and nothing after it is obeyed', async () => {
  const pair = openLoopbackPair();
  const [one, other] = [open(pair.clientFd), open(pair.serverFd)];
  one.stream.send(new Uint8Array(64).fill(0xff));
  await until('the end', 5000, () => other.ends.length === 1);
  assert.equal(other.ends[0]?.code, 'ERR_WIRE_FRAME');
  assert.equal(other.frames.length, 0);
  one.stream.close();
});

test('match stream: a peer that takes nothing is given up before it fills the memory', () => {
  const pair = openLoopbackPair();
  const { stream } = open(pair.clientFd);
  const frame = encodeMatch({ kind: MatchKind.Plan }, new Uint8Array(16 * 1024 * 1024));
  let sent = 0;
  assert.throws(
    () => {
      for (; sent < 100; sent++) stream.send(frame);
    },
    withCode('ERR_WIRE_LIMIT', /tcpx\.outboxBytes allows 67108864/),
  );
  assert.ok(sent * frame.length <= 2 * WAITING_BYTES_MAX);
  stream.close();
  closeFd(pair.serverFd);
});

test('frame assembly: every way to cut the stream gives the same frames', () => {
  const frames = [
    encodeMatch({ kind: MatchKind.Announce, transfer: 1 }, Uint8Array.of(1, 2, 3)),
    encodeMatch({ kind: MatchKind.Landed, transfer: 1 }),
    encodeMatch({ kind: MatchKind.Go, transfer: 2 }),
  ];
  const whole = Buffer.concat(frames);
  for (let piece = 1; piece <= whole.length; piece++) {
    const assembly = new FrameAssembly();
    const kinds: number[] = [];
    for (let at = 0; at < whole.length; at += piece) {
      assembly.take(Uint8Array.from(whole.subarray(at, at + piece)), ({ kind }) => {
        kinds.push(kind);
        return true;
      });
    }
    assert.deepEqual(kinds, [MatchKind.Announce, MatchKind.Landed, MatchKind.Go], `${piece}`);
  }
});
