// Attacks on a listening engine over sockets. Each returns what it saw, so that a test can judge;
// none of them knows the secret unless it is given one.

import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { sleepMs } from '../../src/base/clock.js';
import { type Random, seededRandom } from '../../src/base/random.js';
import type { RegionDescriptor } from '../../src/memory/region.js';
import { ControlKind, encodeControl } from '../../src/wire/control-frame.js';
import * as frame from '../../src/wire/data-frame.js';
import { openRawChannel, openRawSession, rawAttach, rawHello } from './raw-handshake.js';
import { RawPeer } from './raw-peer.js';

/** Opens a connection, says the bytes, and waits until the server has closed it. */
async function tell(port: number, bytes: Uint8Array, isEnded: boolean): Promise<string> {
  const peer = await RawPeer.connect(port);
  peer.sendBytes(bytes);
  if (isEnded) peer.socket.end();
  const answer = await peer.next(20_000).catch(() => undefined);
  await peer.closed(20_000);
  peer.close();
  return answer?.kind === ControlKind.Refuse ? answer.code : `kind ${answer?.kind ?? 'none'}`;
}

/** Frames that are cut short, too long, out of turn, of others, unproved or plain noise. */
export async function sendMalformed(port: number, seed: number): Promise<Map<string, number>> {
  const seen = new Map<string, number>();
  const random = seededRandom(seed);
  for (const bytes of malformedOpenings(random)) {
    const outcome = await tell(port, bytes, random.nextChance(0.5));
    seen.set(outcome, (seen.get(outcome) ?? 0) + 1);
  }
  return seen;
}

function malformedOpenings(random: Random): Uint8Array[] {
  const hello = encodeControl(rawHello(randomBytes(32)));
  const attach = rawAttach(random.nextUint32(), 0, randomBytes(32));
  const oversized = hello.slice();
  new DataView(oversized.buffer).setUint32(8, 0xffffffff, true);
  const openings: Uint8Array[] = [
    oversized,
    attach,
    encodeControl({ kind: ControlKind.Goodbye, reason: '' }),
    encodeControl({ kind: ControlKind.Attached, proof: randomBytes(32) }),
    Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n'),
    new Uint8Array(100_000),
  ];
  for (let cut = 1; cut < hello.length; cut += 7) openings.push(hello.subarray(0, cut));
  for (let count = 0; count < 60; count++) {
    const mutated = (random.nextChance(0.5) ? hello : attach).slice();
    mutated[random.nextBetween(0, mutated.length - 1)] = random.nextBetween(0, 255);
    openings.push(Buffer.concat([mutated, randomBytes(random.nextBetween(0, 200))]));
  }
  // Nothing may wait for more: what is whole so far is followed by noise.
  return openings.map((bytes) => Buffer.concat([bytes, randomBytes(8192)]));
}

/** Half-open handshakes that say a little and then nothing. */
export class SlowLoris {
  readonly #sockets: Socket[] = [];

  /** Resolves when all are connected or refused. */
  async open(port: number, count: number): Promise<void> {
    const hello = encodeControl(rawHello(randomBytes(32)));
    for (let index = 0; index < count; index++) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.resume();
      socket.write(hello.subarray(0, index % hello.length));
      this.#sockets.push(socket);
      if (index % 64 === 63) await sleepMs(1);
    }
    const isSettled = (socket: Socket) => !socket.connecting;
    for (let tries = 0; tries < 2000 && !this.#sockets.every(isSettled); tries++) await sleepMs(5);
  }

  get openCount(): number {
    return this.#sockets.filter((socket) => !socket.destroyed && !socket.readableEnded).length;
  }

  close(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }
}

/** Connections made and dropped as fast as the kernel lets us. */
export async function floodConnections(port: number, count: number): Promise<void> {
  const atOnce = 64;
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => socket.destroy());
      socket.on('error', () => undefined).on('close', () => resolve());
    });
  for (let done = 0; done < count; done += atOnce) {
    await Promise.all(Array.from({ length: Math.min(atOnce, count - done) }, one));
  }
}

export interface FrameFlood {
  /** How many of the frames the server says have landed. */
  readonly landed: number;
  readonly seconds: number;
}

/**
 * A peer with the secret and a session: tiny frames that each keep the rules, as fast as the
 * socket takes them: writes that are granted, a few that are not, notifications, and
 * acknowledgements of nothing between them.
 */
export async function floodFrames(
  port: number,
  secret: Uint8Array,
  target: RegionDescriptor,
  frames: number,
): Promise<FrameFlood> {
  const session = await openRawSession(port, secret);
  const data = await openRawChannel(port, session);
  const answers = watchAnswers(data.socket);
  const startMs = performance.now();
  const perBatch = 1000;
  for (let sent = 0; sent < frames; sent += perBatch) {
    if (!data.socket.write(tinyFrames(target, sent, perBatch))) await drained(data.socket);
    if (data.socket.destroyed) break;
  }
  const endMs = startMs + 60_000;
  while (answers.landed() < frames && performance.now() < endMs && !data.socket.destroyed) {
    await sleepMs(5);
  }
  const seconds = (performance.now() - startMs) / 1000;
  data.close();
  session.control.close();
  return { landed: answers.landed(), seconds };
}

// The server answers by heads alone: the last whole one tells how much has landed.
function watchAnswers(socket: Socket): { landed(): number } {
  let tail = Buffer.alloc(0);
  let landed = 0;
  socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
    tail = Buffer.concat([tail, bytes]);
    const whole = tail.length - (tail.length % frame.DATA_HEAD_BYTES);
    if (whole === 0) return;
    landed = tail.readUInt32LE(whole - frame.DATA_HEAD_BYTES + frame.WORD_ACK * 4);
    tail = tail.subarray(whole);
  });
  return { landed: () => landed };
}

/** One frame in so many is refused: more at a time would break the window. */
const REFUSED_EVERY = 5000;

function tinyFrames(target: RegionDescriptor, first: number, count: number): Buffer {
  const frames: Buffer[] = [];
  for (let number = first; number < first + count; number++) {
    const isRefused = number % REFUSED_EVERY === 0;
    frames.push(number % 4 === 3 ? notification(number) : tinyWrite(target, number, isRefused));
    if (number % 10 === 0) frames.push(head(frame.FRAME_ACK, 0, 0));
  }
  return Buffer.concat(frames);
}

function head(kind: number, sequence: number, payloadBytes: number): Buffer {
  const bytes = Buffer.alloc(frame.DATA_HEAD_BYTES);
  bytes.writeUInt32LE(kind, frame.WORD_KIND * 4);
  bytes.writeUInt32LE(payloadBytes, frame.WORD_PAYLOAD_BYTES * 4);
  bytes.writeUInt32LE(sequence, frame.WORD_SEQUENCE * 4);
  bytes.writeUInt32LE(sequence + 1, frame.WORD_TRANSFER_LOW * 4);
  return bytes;
}

function notification(number: number): Buffer {
  return Buffer.concat([head(frame.FRAME_NOTIFY, number, 3), Buffer.from('hey')]);
}

function tinyWrite(target: RegionDescriptor, number: number, isRefused: boolean): Buffer {
  const bytes = head(frame.FRAME_WRITE, number, 1);
  bytes.writeUInt32LE(target.slot, frame.WORD_REGION_SLOT * 4);
  bytes.writeUInt32LE(target.generation, frame.WORD_REGION_GENERATION * 4);
  bytes.set(Buffer.from(target.key, 'hex'), frame.WORD_KEY * 4);
  bytes.writeUInt32LE(1, frame.WORD_OPERATION_BYTES * 4);
  const offset = isRefused ? target.bytes : number % target.bytes;
  bytes.writeUInt32LE(offset, frame.WORD_OFFSET_LOW * 4);
  return Buffer.concat([bytes, Buffer.from([number])]);
}

async function drained(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}

/** Sessions of a peer with the secret that break a rule each, in different ways. */
export async function breakSessions(
  port: number,
  secret: Uint8Array,
  target: RegionDescriptor,
  count: number,
): Promise<void> {
  const random = seededRandom(count);
  for (let index = 0; index < count; index++) {
    const session = await openRawSession(port, secret);
    const data = await openRawChannel(port, session);
    data.sendBytes(brokenFrame(random, target));
    data.socket.end();
    await data.closed(20_000);
    session.control.close();
  }
}

// A write into the region, right in all but one or two words; the payload may be missing.
function brokenFrame(random: Random, target: RegionDescriptor): Uint8Array {
  const words = new Uint32Array(frame.DATA_HEAD_BYTES / 4);
  words[frame.WORD_KIND] = frame.FRAME_WRITE;
  words[frame.WORD_PAYLOAD_BYTES] = 64;
  words[frame.WORD_OPERATION_BYTES] = 64;
  words[frame.WORD_REGION_SLOT] = target.slot;
  words[frame.WORD_REGION_GENERATION] = target.generation;
  Buffer.from(words.buffer).set(Buffer.from(target.key, 'hex'), frame.WORD_KEY * 4);
  words[frame.WORD_OFFSET_LOW] = target.bytes - random.nextBetween(0, 63);
  for (let edits = random.nextBetween(0, 2); edits > 0; edits--) {
    words[random.nextBetween(0, 15)] = random.nextUint32();
  }
  return Buffer.concat([Buffer.from(words.buffer), new Uint8Array(random.nextBetween(0, 64))]);
}
