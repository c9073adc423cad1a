// The ring that a client writes its commands into, read with suspicion: its words may hold
// anything, and may change while they are read. So each is read once, checked, and what is kept is
// a copy.
// Pure: memory in, commands or the rule that was broken out.

import { wordAt } from '../base/assert.js';
import { TcpxError } from '../base/errors.js';
import {
  CANCEL_RECORD,
  COMMAND_CANCEL,
  COMMAND_NOTIFY,
  COMMAND_POST,
  NOTIFY_RECORD,
  POST_RECORD,
  SERVICE_NOTIFICATION_BYTES_MAX,
} from '../base/service-layout.js';
import { fieldIndex } from '../base/shared-block.js';
import { RING_BLOCK } from '../base/shared-layout.js';

const HEADER_BYTES = 8;
const FILLER = 0;
const TAIL = fieldIndex(RING_BLOCK, 'tail');
const HEAD = fieldIndex(RING_BLOCK, 'head');

export type Command =
  | {
      readonly kind: 'post';
      readonly request: number;
      readonly number: number;
      readonly deadlineMs: number;
      readonly notify: Uint8Array | undefined;
    }
  | { readonly kind: 'cancel'; readonly request: number; readonly number: number }
  | { readonly kind: 'notify'; readonly peer: number; readonly message: Uint8Array };

/** What both ends see: whole words and bytes of one mapping. */
export interface RingMemory {
  readonly int32: Int32Array;
  readonly uint8: Uint8Array;
}

export class CommandRing {
  readonly #memory: RingMemory;
  readonly #tailWord: number;
  readonly #headWord: number;
  readonly #dataByte: number;
  readonly #capacity: number;
  /** Ours alone: what lies in the shared word is for the client to see. */
  #head = 0;

  /** `capacity` is a power of two. */
  constructor(memory: RingMemory, ringAt: number, capacity: number) {
    this.#memory = memory;
    this.#tailWord = ringAt / 4 + TAIL;
    this.#headWord = ringAt / 4 + HEAD;
    this.#dataByte = ringAt + RING_BLOCK.bytes;
    this.#capacity = capacity;
  }

  get isEmpty(): boolean {
    return Atomics.load(this.#memory.int32, this.#tailWord) === this.#head;
  }

  /** The next command, or undefined; throws ERR_WIRE_FRAME where the client breaks a rule. */
  take(): Command | undefined {
    for (;;) {
      const waiting = (Atomics.load(this.#memory.int32, this.#tailWord) - this.#head) | 0;
      if (waiting === 0) return undefined;
      if (waiting < 0 || waiting > this.#capacity) throw broken(`${waiting} bytes are waiting`);
      const position = this.#head & (this.#capacity - 1);
      const word = (this.#dataByte + position) >> 2;
      const recordBytes = this.#word(word);
      const kind = this.#word(word + 1);
      if (recordBytes < HEADER_BYTES || recordBytes % 8 !== 0 || recordBytes > waiting) {
        throw broken(`a record of ${recordBytes} bytes, ${waiting} are waiting`);
      }
      if (position + recordBytes > this.#capacity) throw broken('a record reaches over the end');
      const command =
        kind === FILLER ? undefined : this.#decode(kind, word + 2, recordBytes - HEADER_BYTES);
      this.#head = (this.#head + recordBytes) | 0;
      Atomics.store(this.#memory.int32, this.#headWord, this.#head);
      if (command !== undefined) return command;
    }
  }

  #decode(kind: number, word: number, bytes: number): Command {
    switch (kind) {
      case COMMAND_POST:
        return this.#decodePost(word, bytes);
      case COMMAND_CANCEL: {
        needs(bytes, CANCEL_RECORD.bytes, 'CANCEL');
        const request = this.#word(word + fieldIndex(CANCEL_RECORD, 'request'));
        const number = this.#word(word + fieldIndex(CANCEL_RECORD, 'number'));
        return { kind: 'cancel', request, number };
      }
      case COMMAND_NOTIFY: {
        needs(bytes, NOTIFY_RECORD.bytes, 'NOTIFY');
        const peer = this.#word(word + fieldIndex(NOTIFY_RECORD, 'peer'));
        const length = this.#word(word + fieldIndex(NOTIFY_RECORD, 'bytes'));
        const behind = bytes - NOTIFY_RECORD.bytes;
        const at = word * 4 + NOTIFY_RECORD.bytes;
        return { kind: 'notify', peer, message: this.#copy(at, length, behind) };
      }
      default:
        throw broken(`a record of kind ${kind}`);
    }
  }

  #decodePost(word: number, bytes: number): Command {
    needs(bytes, POST_RECORD.bytes, 'POST');
    const length = this.#word(word + fieldIndex(POST_RECORD, 'notifyBytes'));
    const deadlineMs = this.#word(word + fieldIndex(POST_RECORD, 'deadlineMs'));
    if (deadlineMs < 0) throw broken(`a deadline of ${deadlineMs} ms`);
    const at = word * 4 + POST_RECORD.bytes;
    const notify = length === -1 ? undefined : this.#copy(at, length, bytes - POST_RECORD.bytes);
    return {
      kind: 'post',
      request: this.#word(word + fieldIndex(POST_RECORD, 'request')),
      number: this.#word(word + fieldIndex(POST_RECORD, 'number')),
      deadlineMs,
      notify,
    };
  }

  #word(index: number): number {
    return wordAt(this.#memory.int32, index);
  }

  #copy(at: number, length: number, room: number): Uint8Array {
    if (length < 0 || length > room || length > SERVICE_NOTIFICATION_BYTES_MAX) {
      throw broken(`a message of ${length} bytes in a record with ${room}`);
    }
    return this.#memory.uint8.slice(at, at + length);
  }
}

function needs(bytes: number, least: number, record: string): void {
  if (bytes < least) throw broken(`${record} of ${bytes} bytes`);
}

function broken(rule: string): TcpxError {
  return new TcpxError('ERR_WIRE_FRAME', `command ring: ${rule}`, { facts: { rule } });
}
