// Readers that ask for as much as their windows allow and never take an answer: what a server holds
// for them is the worst that reads can make it hold.

import { connect, type Socket } from 'node:net';
import type { RegionDescriptor } from '../../src/memory/region.js';
import * as frame from '../../src/wire/data-frame.js';
import { FRAME_READ_REQUEST } from '../../src/wire/data-frame.js';
import { openRawSession, RAW_WISH, type RawSession, rawAttach } from './raw-handshake.js';

export interface UnreadOptions {
  readonly port: number;
  readonly secret?: Uint8Array;
  readonly region: RegionDescriptor;
  readonly channels: number;
  readonly windowChunks: number;
  readonly chunkBytes: number;
  /** Places that each read names. */
  readonly entries: number;
}

export class UnreadSession {
  readonly #session: RawSession;
  readonly #sockets: Socket[] = [];

  private constructor(session: RawSession) {
    this.#session = session;
  }

  /** A session whose channels have asked for all that they may; rejects where it is refused. */
  static async open(options: UnreadOptions): Promise<UnreadSession> {
    const { port, secret, channels, windowChunks, chunkBytes } = options;
    const wish = { ...RAW_WISH, explicit: 7, channels, windowChunks, chunkBytes };
    const unread = new UnreadSession(await openRawSession(port, secret, wish));
    const requests = readRequests(options);
    for (let channel = 0; channel < channels; channel++) await unread.#ask(port, channel, requests);
    return unread;
  }

  async #ask(port: number, channel: number, requests: Uint8Array): Promise<void> {
    const { accept, key } = this.#session;
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    this.#sockets.push(socket);
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.write(rawAttach(accept.sessionId, channel, key));
    // ATTACHED, and nothing after it.
    await new Promise((resolve) => socket.once('readable', resolve));
    socket.read(1);
    socket.write(requests);
  }

  close(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
    this.#session.control.close();
  }
}

function readRequests(options: UnreadOptions): Uint8Array {
  const { region, windowChunks, chunkBytes, entries } = options;
  const tableWords = entries === 1 ? 0 : entries * (frame.TABLE_ENTRY_BYTES / 4);
  const words = new Uint32Array(frame.DATA_HEAD_BYTES / 4 + tableWords);
  const tableEntries = entries === 1 ? 0 : entries;
  words[frame.WORD_KIND] = FRAME_READ_REQUEST | (tableEntries << frame.TABLE_ENTRIES_SHIFT);
  words[frame.WORD_OPERATION_BYTES] = chunkBytes;
  words[frame.WORD_REGION_SLOT] = region.slot;
  words[frame.WORD_REGION_GENERATION] = region.generation;
  words[frame.WORD_TRANSFER_LOW] = 1;
  const key = Buffer.from(region.key, 'hex');
  for (let index = 0; index < 4; index++)
    words[frame.WORD_KEY + index] = key.readUInt32LE(index * 4);
  const each = Math.floor(chunkBytes / entries);
  for (let index = 0; tableWords > 0 && index < entries; index++) {
    const at = frame.DATA_HEAD_BYTES / 4 + index * (frame.TABLE_ENTRY_BYTES / 4);
    words[at + 2] = index === 0 ? chunkBytes - each * (entries - 1) : each;
  }
  const frames: Buffer[] = [];
  for (let sequence = 0; sequence < windowChunks; sequence++) {
    words[frame.WORD_SEQUENCE] = sequence;
    frames.push(Buffer.from(Uint8Array.from(Buffer.from(words.buffer))));
  }
  return Buffer.concat(frames);
}
