// What hostile peers do to a soaked agent, round after round. Each round takes what it can, holds
// it for a moment and goes; refusals are what is expected of the target, and are counted.

import { connect, type Socket } from 'node:net';
import { sleepMs } from '../../src/base/clock.js';
import type { Random } from '../../src/base/random.js';
import { encodeListenerFrame } from '../../src/nixl/listener-message.js';
import { decodeMetadata, encodeMetadata } from '../../src/nixl/metadata.js';
import { sealParts } from '../../src/nixl/notif-envelope.js';
import * as frame from '../../src/wire/data-frame.js';
import { openRawChannel, openRawSession } from '../support/raw-handshake.js';
import { UnreadSession } from '../support/unread-reads.js';
import type { SoakAddress } from './soak-target.js';

const MIB = 1024 * 1024;
const HOLD_MS = 300;

export interface Attack {
  readonly name: string;
  readonly round: (at: SoakAddress, random: Random) => Promise<void>;
}

export const ATTACKS: readonly Attack[] = [
  { name: 'notifications that claim 16 MiB', round: claimNotifications },
  { name: 'blobs that never end', round: sendPartialBlobs },
  { name: 'names pushed', round: pushNames },
  { name: 'reads that nobody takes', round: holdReads },
  { name: 'sessions one after another', round: churnSessions },
];

async function claimNotifications(at: SoakAddress): Promise<void> {
  const session = await openRawSession(at.port);
  try {
    const data = await openRawChannel(at.port, session);
    const [first = new Uint8Array(0)] = sealParts(new Uint8Array(16 * MIB), 1, false);
    for (let number = 1; number <= 16; number++) {
      const part = first.slice();
      new DataView(part.buffer).setUint32(1, number, true);
      data.sendBytes(notifyFrame(part, number - 1));
    }
    await sleepMs(HOLD_MS);
    data.close();
  } finally {
    session.control.close();
  }
}

function notifyFrame(payload: Uint8Array, sequence: number): Uint8Array {
  const words = new Uint32Array(frame.DATA_HEAD_BYTES / 4);
  words[frame.WORD_KIND] = frame.FRAME_NOTIFY;
  words[frame.WORD_PAYLOAD_BYTES] = payload.length;
  words[frame.WORD_OPERATION_BYTES] = payload.length;
  words[frame.WORD_SEQUENCE] = sequence;
  words[frame.WORD_TRANSFER_LOW] = 1;
  return Buffer.concat([Buffer.from(words.buffer), payload]);
}

async function sendPartialBlobs(at: SoakAddress, random: Random): Promise<void> {
  const sockets: Socket[] = [];
  for (let count = 0; count < 10; count++) {
    const socket = connect(at.listenPort, '127.0.0.1');
    socket.on('error', () => undefined);
    sockets.push(socket);
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(BigInt(60 * MIB));
    socket.write(head);
    const parts = random.nextBetween(1, 6);
    for (let part = 0; part < parts; part++) socket.write(new Uint8Array(MIB));
  }
  await sleepMs(HOLD_MS);
  for (const socket of sockets) socket.destroy();
}

async function pushNames(at: SoakAddress, random: Random): Promise<void> {
  const metadata = decodeMetadata(Buffer.from(at.blob, 'base64'));
  const socket = connect(at.listenPort, '127.0.0.1');
  socket.on('error', () => undefined);
  for (let count = 0; count < 50; count++) {
    const agent = `pushed-${random.nextUint32()}`;
    const blob = encodeMetadata({ ...metadata, agent });
    socket.write(encodeListenerFrame({ verb: 'LOAD', blob }));
  }
  await sleepMs(HOLD_MS);
  socket.destroy();
}

async function holdReads(at: SoakAddress, random: Random): Promise<void> {
  const held: UnreadSession[] = [];
  const { port, region } = at;
  const chunkBytes = 64 * 1024;
  try {
    for (let count = 0; count < 3; count++) {
      const entries = random.nextChance(0.5) ? 1 : 100;
      const asked = { channels: 8, windowChunks: 64, chunkBytes, entries };
      held.push(await UnreadSession.open({ port, region, ...asked }));
    }
    await sleepMs(HOLD_MS);
  } finally {
    for (const session of held) session.close();
  }
}

async function churnSessions(at: SoakAddress): Promise<void> {
  for (let count = 0; count < 20; count++) {
    const session = await openRawSession(at.port);
    const data = await openRawChannel(at.port, session);
    data.close();
    session.control.close();
  }
}
